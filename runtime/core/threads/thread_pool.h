// All cores for loops whose iterations are independent. The calling thread takes part; what an iteration computes does
// not depend on which thread runs it, so results are the same for any number of threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/core/threads/cancellation.h"

namespace rimetree {

class ThreadPool {
 public:
  /// 0 threads: default_threads() (thread_limit.h).
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(begin, end, worker) for disjoint ranges of at most `grain` covering [0, n); `worker` < size() is a slot
  /// for scratch space. Rethrows the first exception; throws Cancelled if asked to stop. Not reentrant.
  void parallel_for(std::size_t n, std::size_t grain,
                    const std::function<void(std::size_t begin, std::size_t end, int worker)>& body,
                    Cancellation* cancellation = nullptr);

 private:
  struct Loop;
  void work(int worker);
  void stop();
  static void take_part(Loop& loop, int worker);

  std::vector<std::jthread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Loop* loop_ = nullptr;
  std::size_t generation_ = 0;
  bool stopping_ = false;
};

}  // namespace rimetree
