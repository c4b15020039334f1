// Feature macros that callers of the original API test before they name an operator. A macro stands
// here only while its operator exists. src/CMakeLists.txt reads the VSI_FEAT_OP_ lines: programs
// that test them before any include get them on the command line.
#ifndef TIM_VX_FEATURES_H_
#define TIM_VX_FEATURES_H_

#ifndef VSI_FEAT_OP_ACOSH
#define VSI_FEAT_OP_ACOSH 1
#endif
#ifndef VSI_FEAT_OP_ATAN
#define VSI_FEAT_OP_ATAN 1
#endif
#ifndef VSI_FEAT_OP_ATANH
#define VSI_FEAT_OP_ATANH 1
#endif
#ifndef VSI_FEAT_OP_COS
#define VSI_FEAT_OP_COS 1
#endif
#ifndef VSI_FEAT_OP_CUMSUM
#define VSI_FEAT_OP_CUMSUM 1
#endif
#ifndef VSI_FEAT_OP_MAXPOOLWITHARGMAX
#define VSI_FEAT_OP_MAXPOOLWITHARGMAX 1
#endif
#ifndef VSI_FEAT_OP_MAX_POOL3D
#define VSI_FEAT_OP_MAX_POOL3D 1
#endif
#ifndef VSI_FEAT_OP_MOD
#define VSI_FEAT_OP_MOD 1
#endif
#ifndef VSI_FEAT_OP_SCATTER_ND_UPDATE
#define VSI_FEAT_OP_SCATTER_ND_UPDATE 1
#endif
#ifndef VSI_FEAT_OP_TAN
#define VSI_FEAT_OP_TAN 1
#endif
#ifndef _VSI_NN_OP_CELU_H
#define _VSI_NN_OP_CELU_H 1
#endif
#ifndef _VSI_NN_OP_GATHER_ELEMENTS_H
#define _VSI_NN_OP_GATHER_ELEMENTS_H 1
#endif
#ifndef _VSI_NN_OP_SELU_H
#define _VSI_NN_OP_SELU_H 1
#endif

#endif  // TIM_VX_FEATURES_H_
