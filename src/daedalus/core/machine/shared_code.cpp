// The copies for any processor of what machine/shared_code.hpp names.
#include "machine/shared_code.hpp"

DAEDALUS_SHARED_CODE()
