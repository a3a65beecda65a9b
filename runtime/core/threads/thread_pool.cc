#include "runtime/core/threads/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>

#include "runtime/core/error.h"
#include "runtime/core/threads/thread_limit.h"

namespace rimetree {

struct ThreadPool::Loop {
  std::size_t n, grain;
  const std::function<void(std::size_t, std::size_t, int)>& body;
  Cancellation* cancellation;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr error;
  int active = 0;  // workers inside the loop; guarded by the pool's mutex
};

ThreadPool::ThreadPool(int threads) {
  if (threads < 0) throw Error("the number of threads is " + std::to_string(threads) + "; expected one from 1 on");
  if (threads == 0) threads = default_threads();
  try {
    for (int worker = 1; worker < threads; ++worker) workers_.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error& problem) {  // too many for this machine or this user
    const int started = size();
    stop();
    throw Error("of " + std::to_string(threads) + " threads only " + std::to_string(started) +
                " could be started: " + problem.what() + "; ask for fewer");
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  workers_.clear();  // waits for them, while what they wait on is there
}

void ThreadPool::take_part(Loop& loop, int worker) {
  while (!loop.stop) {
    const std::size_t begin = loop.next.fetch_add(loop.grain);
    if (begin >= loop.n) return;
    try {
      // Only the calling thread may ask the interpreter; the others see the flag it sets.
      if (loop.cancellation && (worker == 0 ? loop.cancellation->check() : loop.cancellation->requested())) {
        loop.stop = true;
        return;
      }
      loop.body(begin, std::min(begin + loop.grain, loop.n), worker);
    } catch (...) {
      const std::lock_guard lock(loop.mutex);
      if (!loop.error) loop.error = std::current_exception();
      loop.stop = true;
    }
  }
}

void ThreadPool::work(int worker) {
  std::size_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || (loop_ != nullptr && generation_ != seen); });
    if (stopping_) return;
    seen = generation_;
    Loop* loop = loop_;
    ++loop->active;
    lock.unlock();
    take_part(*loop, worker);
    lock.lock();
    if (--loop->active == 0) done_.notify_all();
  }
}

void ThreadPool::parallel_for(std::size_t n, std::size_t grain,
                              const std::function<void(std::size_t, std::size_t, int)>& body,
                              Cancellation* cancellation) {
  if (n == 0) return;
  Loop loop{n, std::max<std::size_t>(grain, 1), body, cancellation, {}, {}, {}, {}, 0};
  if (!workers_.empty() && n > loop.grain) {
    {
      const std::lock_guard lock(mutex_);
      loop_ = &loop;
      ++generation_;
    }
    wake_.notify_all();
    take_part(loop, 0);
    std::unique_lock lock(mutex_);
    loop_ = nullptr;  // a worker that wakes late finds nothing to do
    done_.wait(lock, [&] { return loop.active == 0; });
  } else {
    take_part(loop, 0);
  }
  if (loop.error) std::rethrow_exception(loop.error);
  if (cancellation && cancellation->requested()) throw Cancelled();
}

}  // namespace rimetree
