#include "runtime/python/array.h"

#include <new>

namespace rimetree::python {

namespace {

PyTypeObject* array_type = nullptr;

struct Contents {
  std::shared_ptr<const void> owner;
  const void* data;
  std::vector<Py_ssize_t> shape, strides;
  const char* format;
  Py_ssize_t item_size, bytes;
};
struct ArrayObject {
  PyObject_HEAD Contents contents;
};

void deallocate(PyObject* self) {
  reinterpret_cast<ArrayObject*>(self)->contents.~Contents();
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError, "this array is read-only");
    view->obj = nullptr;
    return -1;
  }
  Contents& contents = reinterpret_cast<ArrayObject*>(self)->contents;
  view->obj = self;
  Py_INCREF(self);
  view->buf = const_cast<void*>(contents.data);
  view->len = contents.bytes;
  view->readonly = 1;
  view->itemsize = contents.item_size;
  view->format = const_cast<char*>(contents.format);
  view->ndim = static_cast<int>(contents.shape.size());
  view->shape = contents.shape.data();
  view->strides = contents.strides.data();
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

}  // namespace

Ref make_array_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_tp_doc, const_cast<char*>("Memory of the runtime; numpy.asarray() views it.")},
                                {0, nullptr}};
  static PyType_Spec spec{"rimetree._core.Array", sizeof(ArrayObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Ref type = check(PyType_FromSpec(&spec));
  array_type = reinterpret_cast<PyTypeObject*>(type.get());
  return type;
}

Ref make_array(std::shared_ptr<const void> owner, const void* data, std::vector<Py_ssize_t> shape, const char* format,
               std::size_t item_size) {
  std::vector<Py_ssize_t> strides(shape.size());
  auto bytes = static_cast<Py_ssize_t>(item_size);
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = bytes;
    bytes *= shape[i];
  }
  auto* object = PyObject_New(ArrayObject, array_type);
  if (object == nullptr) throw PythonError();
  new (&object->contents) Contents{
      std::move(owner), data, std::move(shape), std::move(strides), format, static_cast<Py_ssize_t>(item_size), bytes};
  return Ref(reinterpret_cast<PyObject*>(object));
}

Ref make_array(const Vells& vells) {
  std::vector<Py_ssize_t> shape;
  for (int i = 0; i < vells.dims().rank; ++i) shape.push_back(vells.dims()[i]);
  for (const auto extent : vells.cells().extent) shape.push_back(extent);
  return make_array(vells.storage(), vells.storage().get(), std::move(shape), vells.is_complex() ? "Zd" : "d",
                    vells.is_complex() ? sizeof(Complex<double>) : sizeof(double));
}

Ref make_array(const Flags& flags) {
  std::vector<Py_ssize_t> shape{static_cast<Py_ssize_t>(flags.planes())};
  for (const auto extent : flags.cells().extent) shape.push_back(extent);
  return make_array(flags.storage(), flags.data(), std::move(shape), "i", sizeof(std::int32_t));
}

Ref make_array(const StateArray& array) {
  const bool complex = array.type == NumberType::complex;
  return make_array(std::const_pointer_cast<double>(array.data.storage()), array.data.data(),
                    {array.shape.begin(), array.shape.end()}, complex ? "Zd" : "d",
                    complex ? sizeof(Complex<double>) : sizeof(double));
}

Ref make_array(const std::vector<double>& values) {
  return make_array(StateArray{{static_cast<std::int64_t>(values.size())}, NumberType::real, values});
}

Ref make_array(std::vector<std::uint8_t> values) {
  const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(values));
  return make_array(owner, owner->data(), {static_cast<Py_ssize_t>(owner->size())}, "B", 1);
}

}  // namespace rimetree::python
