# The Vulkan plugin in the command, on whatever Vulkan device there is; a software one will do.
#   VULKAN         the plugin's file
#   VULKAN_FAULTS  the folder of the layer that lets calls of the driver fail
load common
bats_require_minimum_version 1.5.0

setup_file() {
    export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
    has_device=$("$TENON" devices --plugin "$VULKAN" 2>/dev/null | grep -c '^vulkan0 ') || :
    export has_device
}

# The pipelines that one test has made serve the others.
setup() {
    cd "$BATS_TEST_TMPDIR"
    export HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
    unset TENON_PLUGIN_PATH
    [ "$has_device" -gt 0 ] || skip "the machine has no Vulkan device, not even a software one"
}

vulkan() { "$TENON" "$@" --plugin "$VULKAN"; }

# with_fault FAULT COMMAND…: FAULT as the layer reads it
with_fault() {
    local fault=$1
    shift
    VK_INSTANCE_LAYERS=VK_LAYER_TENON_faults VK_LAYER_PATH=$VULKAN_FAULTS TENON_VULKAN_FAULT=$fault "$@"
}

@test "a model runs wholly on the device, and says what the CPU says" {
    run --separate-stderr "$TENON" run austen "She was at Bath." -n 12 --greedy
    want=$output
    run --separate-stderr vulkan run austen "She was at Bath." -n 12 --greedy --device vulkan0 --explain
    [ "$status" -eq 0 ]
    [ "$output" = "$want" ]
    [[ $stderr != *cpu0* ]]
}

@test "half of the layers on the device" {
    run --separate-stderr "$TENON" run austen "She was at Bath." -n 12 --greedy
    want=$output
    run --separate-stderr vulkan run austen "She was at Bath." -n 12 --greedy --device vulkan0,cpu0 --gpu-layers 2
    [ "$status" -eq 0 ]
    [ "$output" = "$want" ]
}

@test "a software device is used only when it is named" {
    run vulkan devices --json
    [ "$(json '[d["kind"] for d in o["devices"] if d["name"] == "vulkan0"][0]')" = software ] ||
        skip "the Vulkan device is no software one"
    run --separate-stderr vulkan run austen "She was" -n 2 --greedy --explain
    [ "$status" -eq 0 ]
    [[ $stderr != *vulkan0* ]]
}

@test "without a driver the CPU is left, and the reason is told" {
    VK_DRIVER_FILES=/nonexistent.json VK_ICD_FILENAMES=/nonexistent.json run vulkan plugins --why
    [ "$status" -eq 0 ]
    [[ $output == *"vulkan"*"driver"* ]]
    VK_DRIVER_FILES=/nonexistent.json VK_ICD_FILENAMES=/nonexistent.json run --separate-stderr \
        vulkan run austen "She was" -n 2 --device vulkan0
    [ "$status" -eq 3 ]
    [[ $stderr == *"there is no device 'vulkan0'"*"there is no driver"* ]]
}

@test "a device that the driver loses is left for the CPU, with a warning and the same text" {
    run --separate-stderr "$TENON" run austen "She was at Bath." -n 12 --greedy
    want=$output
    for call in vkQueueSubmit:1 vkQueueSubmit:5 vkQueueSubmit:9 vkWaitSemaphores:1 vkWaitSemaphores:4; do
        run --separate-stderr with_fault $call:-4 \
            vulkan run austen "She was at Bath." -n 12 --greedy --device vulkan0,cpu0 --gpu-layers 99
        [ "$status" -eq 0 ]
        [ "$output" = "$want" ]
        [[ $stderr == *"the driver lost the device"*repeated*"on cpu0"* ]]
    done
}

@test "a device that was named alone and is lost ends the command" {
    run --separate-stderr with_fault vkQueueSubmit:3:-4 vulkan run austen "She was at Bath." -n 12 --device vulkan0
    [ "$status" -eq 7 ]
    [[ $stderr == *"lost the device"* ]]
}

@test "a device from which nothing comes is given up" {
    run --separate-stderr with_fault vkWaitSemaphores:6:hang vulkan run austen "She was at Bath." -n 12 --greedy \
        --device vulkan0,cpu0 --gpu-layers 99 --set plugins.hang_timeout_ms=1000
    [ "$status" -eq 0 ]
    [[ $output == *humoured* ]]
    [[ $stderr == *"repeated on cpu0"* ]]
}

@test "a wait that fails is made again: the work has its bytes as long as it runs" {
    run --separate-stderr "$TENON" run austen "She was at Bath." -n 12 --greedy
    want=$output
    run --separate-stderr with_fault vkWaitSemaphores:2:-1 vulkan run austen "She was at Bath." -n 12 --greedy \
        --device vulkan0
    [ "$status" -eq 0 ]
    [ "$output" = "$want" ]
    [[ $stderr != *repeated* ]]
}

@test "what the driver has no memory for is one line" {
    for fault in vkAllocateMemory:1:-2 vkAllocateMemory:2:-2 vkCreateBuffer:2:-1 vkCreateComputePipelines:3:-1 \
        vkCreateDescriptorPool:1:-2 vkAllocateCommandBuffers:2:-2; do
        run --separate-stderr with_fault $fault vulkan run austen "She was at Bath." -n 2 --device vulkan0
        [ "$status" -eq 5 ] || { echo "$fault: $status $stderr" >&2; false; }
        [ "$(grep -c '^tenon: ' <<<"$stderr")" -eq 1 ] || { echo "$fault: $stderr" >&2; false; }
    done
}

@test "a cache of pipelines that is damaged is made again" {
    vulkan run austen "She was" -n 1 --greedy --device vulkan0 >/dev/null 2>&1
    find "$XDG_CACHE_HOME/tenon/plugins" -type f | grep -q .
    find "$XDG_CACHE_HOME/tenon/plugins" -type f -exec truncate -s 100 {} +
    run --separate-stderr vulkan run austen "She was" -n 1 --greedy --device vulkan0
    [ "$status" -eq 0 ]
    [ -n "$output" ]
}
