/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a person calls the functions and variables behind linkage names, of C++ and Fortran.
 *
 * flang's: "_Q", then for each scope and last for the thing itself letters that say what it is
 * and its name, in which there are none: "_QMheatPrelax" is procedure relax of module heat,
 * "_QFEgrid" a variable of the main program, whose procedure is "_QQmain". Outside of modules
 * a procedure or common block "x" is "x_".
 */
#include "llvm_compat.h"
#include "pass.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace llvm;

namespace psnap
{

std::string baseName(StringRef path)
{
    return sys::path::filename(path).str();
}

/* "heat::relax"; "" when the name is not flang's. */
static std::string fortranName(StringRef linkage)
{
    std::string name;

    if (linkage == "_QQmain")
        return "MAIN";
    if (!linkage.consume_front("_Q") || linkage.empty() || linkage[0] == 'Q')
        return "";
    while (!linkage.empty()) {
        StringRef kind = linkage.take_while([](char c) { return c >= 'A' && c <= 'Z'; });
        if (kind.empty())
            return "";
        linkage = linkage.drop_front(kind.size());
        StringRef scope = linkage.take_until([](char c) { return c >= 'A' && c <= 'Z'; });
        linkage = linkage.drop_front(scope.size());
        if (name.empty() && kind[0] == 'F' && (kind.size() > 1 || scope.empty()))
            name = "MAIN"; /* the main program has no name here */
        if (!name.empty())
            name += "::";
        name += scope;
    }
    return name;
}

/* "a::vector<int, x<y>>::b" -> "a::vector::b"; operators keep their brackets. */
static std::string withoutTemplateArguments(StringRef name)
{
    std::string plain;
    int depth = 0;

    if (name.contains("operator"))
        return name.str();
    for (char c : name) {
        depth += c == '<';
        if (depth == 0)
            plain += c;
        depth -= c == '>' && depth > 0;
    }
    return plain;
}

/* What a person calls a function: its qualified name without parameters, template arguments,
 * return type and anonymous namespaces. Names of C stay as they are. */
std::string functionName(StringRef linkage)
{
    ItaniumPartialDemangler demangler;
    std::string mangled = linkage.str(), fortran = fortranName(linkage);

    if (!fortran.empty())
        return fortran;
    if (demangler.partialDemangle(mangled.c_str()) || !demangler.isFunction())
        return withoutTemplateArguments(mangled);
    auto text = [&](char *raw) {
        std::string copy = raw ? raw : "";
        std::free(raw);
        return copy;
    };
    std::string context =
        withoutTemplateArguments(text(demangler.getFunctionDeclContextName(nullptr, nullptr)));
    std::string base = text(demangler.getFunctionBaseName(nullptr, nullptr));
    static const std::string anonymous = "(anonymous namespace)";
    for (size_t at; (at = context.find(anonymous)) != std::string::npos;)
        context.erase(at, anonymous.size() +
                              (context.compare(at + anonymous.size(), 2, "::") == 0 ? 2 : 0));
    if (context.size() >= 2 && context.compare(context.size() - 2, 2, "::") == 0)
        context.resize(context.size() - 2);
    return context.empty() ? base : context + "::" + base;
}

std::string scopeName(const DISubprogram &scope)
{
    StringRef name = scope.getName(), linkage = scope.getLinkageName();

    if (linkage.empty() || linkage == name.str() + "_")
        return functionName(name);
    return functionName(linkage);
}

StringRef languageOf(const Module &module)
{
    for (const DICompileUnit *unit : module.debug_compile_units()) {
        StringRef name = languageName(*unit);
        if (name.contains("C_plus_plus"))
            return "C++";
        if (name.contains("Fortran"))
            return "Fortran";
        if (name.starts_with("DW_LANG_C") || name == "DW_LNAME_C")
            return "C";
    }
    return "";
}

std::string variableName(const GlobalVariable &global)
{
    StringRef linkage = global.getName();
    std::string fortran = fortranName(linkage);

    if (!fortran.empty())
        return fortran;
    if (linkage.ends_with("_") && languageOf(*global.getParent()) == "Fortran")
        return linkage.drop_back().str(); /* a common block */
    return demangle(linkage.str());
}

/* The line that asks for memory, not the one in the library's allocator that it inlined. */
std::string siteName(const Instruction &call)
{
    const DILocation *place = call.getDebugLoc();
    while (place && place->getInlinedAt() && place->getFilename().starts_with("/usr/"))
        place = place->getInlinedAt();
    const DISubprogram *scope = place ? place->getScope()->getSubprogram() : nullptr;
    std::string name = scope ? scopeName(*scope) : functionName(call.getFunction()->getName());

    if (place)
        name += " " + baseName(place->getFilename()) + ":" + std::to_string(place->getLine());
    return name;
}

} // namespace psnap
