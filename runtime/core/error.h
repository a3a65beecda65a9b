// What can go wrong, by whose mistake it is. Every message says what, where, expected against got, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace rimetree {

/// Base of all errors a user can cause; shown without a traceback.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// Shapes that do not fit together.
class ShapeError : public Error {
 public:
  using Error::Error;
};
/// A state field that is unknown, missing, of the wrong type or out of range.
class StateError : public Error {
 public:
  using Error::Error;
};
/// A plugin that cannot be loaded.
class PluginError : public Error {
 public:
  using Error::Error;
};
/// The user asked to stop, or the caller has an exception of its own.
class Cancelled : public Error {
 public:
  Cancelled() : Error("cancelled") {}
};

/// What the exception that is being handled says; of one that is no std::exception, that it is none.
std::string message_of_caught();

}  // namespace rimetree
