"""Where CMake finds RimeTree, for building node classes outside its tree:

cmake -B build -Drimetree_DIR=$(python -m rimetree.cmake_dir)
"""

from pathlib import Path

#: The folder of rimetreeConfig.cmake.
CMAKE_DIR = Path(__file__).parent / "cmake"

if __name__ == "__main__":
    print(CMAKE_DIR)
