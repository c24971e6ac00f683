// walk.glsl: the elements of a result in four dims, and where they and their operands are. Strides
// in bytes; WALK_OPERANDS is the number of operands, the result counted and first.
struct Walk {
    uvec4 dims;
    uvec4 strides[WALK_OPERANDS];
    uint offsets[WALK_OPERANDS];
    uint count;
};

uvec4 place_of(uvec4 dims, uint index)
{
    uvec4 at;
    at.x = index % dims.x;
    index /= dims.x;
    at.y = index % dims.y;
    index /= dims.y;
    at.z = index % dims.z;
    at.w = index / dims.z;
    return at;
}

uint address_of(uvec4 at, uvec4 strides, uint offset)
{
    at *= strides;
    return offset + at.x + at.y + at.z + at.w;
}
