// Things a user should know that are no errors. Each is said once, however many nodes and tiles say it.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace rimetree {

class Warnings {
 public:
  /// `kind` identifies the message: of several with the same kind the first is kept.
  void add(const std::string& kind, const std::string& message) {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, text] : messages_)
      if (known == kind) return;
    messages_.emplace_back(kind, message);
  }
  /// The same of what goes on changing, as counts do: the last one is kept.
  void replace(const std::string& kind, const std::string& message) {
    const std::lock_guard lock(mutex_);
    for (auto& [known, text] : messages_)
      if (known == kind) {
        text = message;
        return;
      }
    messages_.emplace_back(kind, message);
  }
  std::vector<std::string> list() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> texts;
    for (const auto& [kind, text] : messages_) texts.push_back(text);
    return texts;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> messages_;
};

}  // namespace rimetree
