// Running programs and reading what they print.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace rimetree::testing {

struct Output {
  int status = 0;
  std::string text;
};
inline Output run(const std::string& command) {
  Output output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {1, "popen failed"};
  std::array<char, 4096> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) output.text.append(part.data(), n);
  output.status = pclose(pipe);
  return output;
}

/// What follows a label in the text.
inline std::string after(const std::string& text, const std::string& label) {
  const auto at = text.find(label);
  if (at == text.npos) return "";
  const auto begin = text.find_first_not_of(" :", at + label.size());
  return text.substr(begin, text.find_first_of("\r\n", begin) - begin);
}

}  // namespace rimetree::testing
