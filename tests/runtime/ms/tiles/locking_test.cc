// Who may write: others that read do no harm, others that write are waited for or named.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/ms/tiles/tile_writer.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

/// A process that holds a lock on the byte of table.lock that casacore's tables lock, for so long.
class OtherProgram {
 public:
  OtherProgram(const std::string& path, short type, int milliseconds) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const int file = ::open((path + "/table.lock").c_str(), O_RDWR);
      struct flock lock {};
      lock.l_type = type;
      lock.l_whence = SEEK_SET;
      lock.l_len = 1;
      const char locked = ::fcntl(file, F_SETLK, &lock) == 0;
      if (::write(ready[1], &locked, 1) != 1) ::_exit(1);
      ::usleep(1000 * milliseconds);
      ::_exit(0);
    }
    char locked = 0;
    EXPECT_EQ(::read(ready[0], &locked, 1), 1);
    EXPECT_EQ(locked, 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~OtherProgram() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  pid_t process() const { return process_; }

 private:
  pid_t process_;
};

TEST(Locking, who_reads_does_not_hinder_writing) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(2, 3));
  const OtherProgram reader(folder / "a.ms", F_RDLCK, 60000);
  write_coded(folder / "a.ms");
  const MeasurementSet ms(folder / "a.ms");
  std::vector<std::complex<float>> values(20);
  ms.table().read_cells("DATA", {2}, {{5, 4}, 0, 5}, values.data());
  EXPECT_EQ(values[19], coded(2, 4, 3));
}

TEST(Locking, who_writes_is_named) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(2, 3));
  const OtherProgram writer(folder / "a.ms", F_WRLCK, 60000);
  const std::string message = error_of([&] { open_for_writing(folder / "a.ms", 0); });
  EXPECT_CONTAINS(message,
                  "another program (process " + std::to_string(writer.process()) + ") has it open for writing");
  const MeasurementSet reading(folder / "a.ms");  // which needs no lock
}

TEST(Locking, who_writes_is_waited_for) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(2, 3));
  const OtherProgram writer(folder / "a.ms", F_WRLCK, 700);
  EXPECT_TRUE(open_for_writing(folder / "a.ms", 30)->writable());
}

TEST(Locking, what_cannot_be_written_is_known_before) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(2, 3));
  const std::shared_ptr<MeasurementSet> ms = open_for_writing(folder / "a.ms", 0);
  check_writable(*ms, "DATA");
  check_writable(*ms, "NEW_COLUMN");
  EXPECT_FALSE(ms->has_column("NEW_COLUMN"));
  EXPECT_CONTAINS(error_of([&] { check_writable(*ms, "UVW"); }), "column UVW");
  EXPECT_CONTAINS(error_of([&] { check_writable(*ms, "TIME"); }), "column TIME");
  EXPECT_CONTAINS(error_of([&] { check_writable(*ms, "MODEL DATA"); }), "cannot be called 'MODEL DATA'");
  EXPECT_CONTAINS(error_of([&] { check_writable(*ms, "NEW", std::uint64_t{1} << 60); }), "GiB of disk");
}

/// Root may write anything: while this is there it is nobody.
class OrdinaryUser {
 public:
  OrdinaryUser() : before_(::geteuid()) { EXPECT_TRUE(before_ != 0 || ::seteuid(65534) == 0); }
  ~OrdinaryUser() { EXPECT_TRUE(before_ != 0 || ::seteuid(before_) == 0); }

 private:
  uid_t before_;
};

TEST(Locking, a_set_that_is_read_only_is_said_to_be_and_what_to_do) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(2, 3));
  fs::permissions(folder / "", fs::perms(0755));
  for (const char* name : {"table.dat", "table.lock"}) {
    fs::permissions(folder / "a.ms/table.dat", fs::perms(0444));
    fs::permissions(folder / "a.ms/table.lock", fs::perms(0444));
    if (name == std::string("table.lock")) fs::permissions(folder / "a.ms/table.dat", fs::perms(0666));
    const OrdinaryUser nobody;
    EXPECT_EQ(MeasurementSet(folder / "a.ms", Access::kRead).n_row(), 3);
    EXPECT_EQ(error_of([&] { MeasurementSet(folder / "a.ms", Access::kUpdate); }),
              "opening " + (folder / "a.ms") + " for writing failed: it is read-only (no permission to write " +
                  (folder / "a.ms/") + name + "); give yourself that permission (chmod -R u+w), or work on a copy");
  }
}

}  // namespace
}  // namespace rimetree::ms
