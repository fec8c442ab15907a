#pragma once

#include "libpsgd/dump/schema.hpp"
