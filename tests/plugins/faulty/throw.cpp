// throw.cpp: what C cannot do.
extern "C" void faulty_throw(void);
extern "C" void faulty_throw(void)
{
    throw 1;
}
