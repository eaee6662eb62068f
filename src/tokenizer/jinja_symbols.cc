// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "tokenizer/jinja_ast.h"

namespace plumb::jinja {

namespace {

/// What the reference's compiler knows about the names of one block.
///
/// A name that a block assigns before it reads it, and that no block around it mentions, is local
/// from the start of the block: inner blocks that read it before the assignment find it undefined
/// even if a variable of that name was given to the template.
class Frame {
 public:
  explicit Frame(const Frame* parent) : parent_(parent) {}

  bool mentions(int name) const {
    return kinds_.count(name) > 0 || (parent_ != nullptr && parent_->mentions(name));
  }

  void load(int name) {
    if (!mentions(name)) {
      kinds_[name] = Kind::kOuter;
    }
  }

  void store(int name) {
    stores_.insert(name);
    if (kinds_.count(name) == 0) {
      const bool outer = parent_ != nullptr && parent_->mentions(name);
      kinds_[name] = outer ? Kind::kOuter : Kind::kLocal;
    }
  }

  void declare(int name) {
    stores_.insert(name);
    kinds_[name] = Kind::kOuter;
  }

  /// Merges what the branches of an if did; what only some of them assign may come from outside.
  void merge(const std::vector<Frame>& branches) {
    std::set<int> assigned;
    for (const Frame& branch : branches) {
      assigned.insert(branch.stores_.begin(), branch.stores_.end());
    }
    for (const int name : stores_) {
      assigned.erase(name);
    }
    for (const Frame& branch : branches) {
      for (const auto& [name, kind] : branch.kinds_) {
        kinds_[name] = kind;
      }
      stores_.insert(branch.stores_.begin(), branch.stores_.end());
    }
    for (const int name : assigned) {
      kinds_[name] = Kind::kOuter;
    }
  }

  std::vector<int> locals() const {
    std::vector<int> out;
    for (const auto& [name, kind] : kinds_) {
      if (kind == Kind::kLocal) {
        out.push_back(name);
      }
    }
    return out;
  }

 private:
  enum class Kind : unsigned char { kOuter, kLocal };

  const Frame* parent_;
  std::map<int, Kind> kinds_;
  std::set<int> stores_;
};

class Analyzer {
 public:
  explicit Analyzer(Program* program) : program_(program) {}

  void run() {
    Frame root(nullptr);
    for (const auto& stmt : program_->body) {
      visit(*stmt, &root);
    }
    program_->locals = root.locals();
    descend(&program_->body, root);
  }

 private:
  static void load_names(const Expr* expr, Frame* frame) {
    if (expr == nullptr) {
      return;
    }
    visit_expressions(*expr, [frame](const Expr& part) {
      if (part.kind == ExprKind::kName || part.kind == ExprKind::kNamespaceRef) {
        frame->load(part.name_id);
      }
    });
  }

  static void store_names(const Expr& target, Frame* frame, bool as_parameters) {
    visit_expressions(target, [frame, as_parameters](const Expr& part) {
      if (part.kind == ExprKind::kNamespaceRef) {
        frame->load(part.name_id);
      } else if (part.kind == ExprKind::kName) {
        as_parameters ? frame->declare(part.name_id) : frame->store(part.name_id);
      }
    });
  }

  static void visit_all(const Body& body, Frame* frame) {
    for (const auto& stmt : body) {
      visit(*stmt, frame);
    }
  }

  // Names that a statement uses in the block it stands in.
  static void visit(const Stmt& stmt, Frame* frame) {
    switch (stmt.kind) {
      case StmtKind::kIf:
        return visit_if(stmt, frame);
      case StmtKind::kSet:
        load_names(stmt.expr.get(), frame);
        return store_names(*stmt.target, frame, false);
      case StmtKind::kSetBlock:
        return store_names(*stmt.target, frame, false);
      case StmtKind::kMacro:
        return frame->store(stmt.name_id);
      case StmtKind::kBlock:
      case StmtKind::kGeneration:
        return;
      case StmtKind::kWith:
        for (const Param& value : stmt.params) {
          load_names(value.default_value.get(), frame);
        }
        return;
      default:
        return load_names(stmt.expr.get(), frame);
    }
  }

  // Each elif is an if of its own inside the branches, as the reference sees it.
  static void visit_if(const Stmt& stmt, Frame* frame) {
    load_names(stmt.branches[0].test.get(), frame);
    std::vector<Frame> branches;
    for (std::size_t i = 0; i < stmt.branches.size(); ++i) {
      Frame branch = *frame;
      if (i > 0) {
        load_names(stmt.branches[i].test.get(), &branch);
      }
      visit_all(stmt.branches[i].body, &branch);
      branches.push_back(std::move(branch));
    }
    Frame other = *frame;
    visit_all(stmt.else_body, &other);
    branches.push_back(std::move(other));
    frame->merge(branches);
  }

  void descend(Body* body, const Frame& frame) {
    for (const auto& stmt : *body) {
      descend_into(stmt.get(), frame);
    }
  }

  void declare_special(const Stmt& stmt, Frame* inner) {
    const auto declare = [&](const char* name) { inner->declare(program_->id_of(name)); };
    if (stmt.kind == StmtKind::kFor) {
      declare("loop");
    }
    if (stmt.uses_caller) {
      declare("caller");
    }
    if (stmt.uses_kwargs) {
      declare("kwargs");
    }
    if (stmt.uses_varargs) {
      declare("varargs");
    }
  }

  void descend_into(Stmt* stmt, const Frame& frame) {
    if (stmt->kind == StmtKind::kIf) {
      for (Branch& branch : stmt->branches) {
        descend(&branch.body, frame);
      }
      return descend(&stmt->else_body, frame);
    }
    Frame inner(stmt->kind == StmtKind::kBlock ? nullptr : &frame);
    declare_special(*stmt, &inner);
    if (stmt->kind == StmtKind::kFor) {
      store_names(*stmt->target, &inner, true);
    }
    for (const ExprPtr& target : stmt->targets) {
      store_names(*target, &inner, true);
    }
    if (stmt->kind == StmtKind::kMacro || stmt->kind == StmtKind::kCall) {
      for (const Param& param : stmt->params) {
        inner.declare(param.name_id);
      }
      for (const Param& param : stmt->params) {
        load_names(param.default_value.get(), &inner);
      }
    }
    visit_all(stmt->body, &inner);
    stmt->locals = inner.locals();
    descend(&stmt->body, inner);
    if (!stmt->else_body.empty()) {
      Frame other(&frame);
      visit_all(stmt->else_body, &other);
      stmt->else_locals = other.locals();
      descend(&stmt->else_body, other);
    }
  }

  Program* program_;
};

}  // namespace

void find_locals(Program* program) {
  Analyzer(program).run();
}

}  // namespace plumb::jinja
