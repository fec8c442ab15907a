#pragma once

#include <hdf5.h>

#include "libpsgd/dump/schema.hpp"
