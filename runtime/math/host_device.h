// One spelling for functions that compile as plain C++ and, under nvcc, for the device as well.
#pragma once

#ifdef __CUDACC__
#define RT_HD __host__ __device__
#else
#define RT_HD
#endif
