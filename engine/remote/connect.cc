#include "engine/remote/transport/transport.h"

namespace sparkplan {

Result<std::unique_ptr<Connection>> connect(const NodeSpec& node, const ConnectOptions& options) {
  return node.transport == TransportKind::kLocal ? connect_local(node, options) : connect_ssh(node, options);
}

}  // namespace sparkplan
