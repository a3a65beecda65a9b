// Normal equations from the sums over the data, one block of one equation at a time.
#pragma once

#include "runtime/solve/equations/assembly.h"
#include "runtime/solve/jones/jones_sums.h"

namespace rimetree::solve {

/// `products`: of the item's block, by number.
void contribute(const JonesProducts& of, const JonesSums& sums, const ErrorModel& errors, const Item& item,
                const JonesProduct* products, Contribution& contribution);

}  // namespace rimetree::solve
