#include "runtime/device/device_tuner.h"

#include "runtime/core/error.h"

namespace rimetree {

namespace {
DeviceTuner& tuner() {
  static DeviceTuner one;
  return one;
}
}  // namespace

void set_device_tuner(DeviceTuner one) { tuner() = std::move(one); }

TuningReport tune_device(const std::string& name, double seconds, Cancellation& cancellation) {
  if (!tuner()) throw Error("there are no kernels to tune");
  DeviceContexts devices = open_devices({name, 0});
  if (devices.size() != 1) throw Error("\"" + name + "\" is not one device");
  return tuner()(devices, seconds, cancellation);
}

}  // namespace rimetree
