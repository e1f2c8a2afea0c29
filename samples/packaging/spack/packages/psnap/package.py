#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# The recipe of psnap for Spack: it builds the sources that it lies among. There is no published
# archive yet; where there is one, `version` with its checksum takes the place of `develop`.
import os

from spack.package import *


class Psnap(CMakePackage):
    """Profiles of the memory behaviour of programs, that people can read and edit; address streams
    from them, cache simulation and analytical prediction."""

    _root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 5))
    git = "file://" + _root

    license("BSD-3-Clause")

    version("develop", branch="main")

    variant("capture", default=True, description="psnap cc: the LLVM pass and the runtime")
    variant("valgrind", default=True, description="valgrind for psnap record --engine valgrind")
    variant("archive", default=True, description="psnap repo, the archive of profiles")
    variant("optimisers", default=True, description="psnap fit --method nlopt")
    variant("plots", default=False, description="figures by gnuplot")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libyaml")
    depends_on("zstd")
    depends_on("xxhash")
    depends_on("elfutils")
    depends_on("zlib-api")
    depends_on("libarchive")
    depends_on("llvm@19 +clang", when="+capture", type=("build", "link", "run"))
    depends_on("valgrind", when="+valgrind", type="run")
    depends_on("sqlite", when="+archive")
    depends_on("gsl")
    depends_on("nlopt", when="+optimisers")
    depends_on("gnuplot", when="+plots", type="run")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("BUILD_TESTING", False),
            self.define_from_variant("PSNAP_CAPTURE", "capture"),
        ]
        if self.spec.satisfies("+capture"):
            # Spack's LLVM has programs without a version in their names
            bin = self.spec["llvm"].prefix.bin
            args += [
                self.define("PSNAP_LLVM_VERSIONS", "19"),
                self.define("LLVM_CONFIG_19", bin.join("llvm-config")),
                self.define("CAPTURE_CLANG_19", bin.join("clang")),
                self.define("CAPTURE_CLANGXX_19", bin.join("clang++")),
            ]
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        psnap = Executable(self.prefix.bin.psnap)
        psnap("doctor" if self.spec.satisfies("+capture") else "--version")
