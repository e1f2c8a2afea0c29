/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exprtree: symbolic derivatives: expressions as trees of unique_ptr to polymorphic nodes are
 * derived, simplified, copied and evaluated. Irregular: recursion over virtual calls, trees that
 * share nothing and grow by copying, nodes of four sizes allocated and freed in turn.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace
{
class Node;
using Tree = std::unique_ptr<Node>;

class Node
{
  public:
    virtual ~Node() = default;
    virtual double value(const std::vector<double> &x) const = 0;
    virtual Tree derivative(int by) const = 0;
    virtual Tree copy() const = 0;
    virtual Tree simpler() const = 0;
    virtual const double *constant() const
    {
        return nullptr;
    }
    virtual size_t size() const
    {
        return 1;
    }
};

class Number : public Node
{
    double number;

  public:
    explicit Number(double x) : number(x)
    {
    }
    double value(const std::vector<double> &) const override
    {
        return number;
    }
    Tree derivative(int) const override
    {
        return std::make_unique<Number>(0);
    }
    Tree copy() const override
    {
        return std::make_unique<Number>(number);
    }
    Tree simpler() const override
    {
        return copy();
    }
    const double *constant() const override
    {
        return &number;
    }
};

class Variable : public Node
{
    int index;

  public:
    explicit Variable(int i) : index(i)
    {
    }
    double value(const std::vector<double> &x) const override
    {
        return x[index];
    }
    Tree derivative(int by) const override
    {
        return std::make_unique<Number>(by == index);
    }
    Tree copy() const override
    {
        return std::make_unique<Variable>(index);
    }
    Tree simpler() const override
    {
        return copy();
    }
};

class Binary : public Node
{
    char op;
    Tree left, right;

  public:
    Binary(char o, Tree l, Tree r) : op(o), left(std::move(l)), right(std::move(r))
    {
    }
    double value(const std::vector<double> &x) const override
    {
        const double a = left->value(x), b = right->value(x);
        return op == '+' ? a + b : op == '-' ? a - b : a * b;
    }
    Tree derivative(int by) const override
    {
        Tree l = left->derivative(by), r = right->derivative(by);
        if (op != '*')
            return std::make_unique<Binary>(op, std::move(l), std::move(r));
        return std::make_unique<Binary>('+',
                                        std::make_unique<Binary>('*', std::move(l), right->copy()),
                                        std::make_unique<Binary>('*', left->copy(), std::move(r)));
    }
    Tree copy() const override
    {
        return std::make_unique<Binary>(op, left->copy(), right->copy());
    }
    Tree simpler() const override
    {
        Tree l = left->simpler(), r = right->simpler();
        const double *a = l->constant(), *b = r->constant();
        if (a && b)
            return std::make_unique<Number>(op == '+' ? *a + *b : op == '-' ? *a - *b : *a * *b);
        if (op == '*' && ((a && *a == 0) || (b && *b == 0)))
            return std::make_unique<Number>(0);
        if (a && *a == (op == '*') && op != '-')
            return r;
        if (b && *b == (op == '*'))
            return l;
        return std::make_unique<Binary>(op, std::move(l), std::move(r));
    }
    size_t size() const override
    {
        return 1 + left->size() + right->size();
    }
};

Tree random_tree(uint32_t &s, int depth)
{
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    const uint32_t r = s >> 8;
    if (depth == 0 || r % 8 == 0)
        return r / 8 % 3 ? Tree(std::make_unique<Variable>(r / 24 % 4))
                         : Tree(std::make_unique<Number>(r / 24 % 3));
    Tree left = random_tree(s, depth - 1);
    return std::make_unique<Binary>("+-**"[r / 8 % 4], std::move(left), random_tree(s, depth - 1));
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 40;
    const std::vector<double> x{0.5, -0.25, 1.5, 0.125};
    uint32_t seed = 2718281;
    double sum = 0;
    size_t nodes = 0;

    for (size_t i = 0; i < n; i++) {
        Tree tree = random_tree(seed, 9);
        for (int by = 0; by < 4; by++) {
            Tree first = tree->derivative(by)->simpler();
            Tree second = first->derivative((by + 1) % 4)->simpler();
            nodes += first->size() + second->size();
            sum += std::fmod(first->value(x) + second->value(x), 1000);
        }
    }
    std::printf("exprtree %zu checksum %.6e (%zu nodes)\n", n, sum, nodes);
    return 0;
}
