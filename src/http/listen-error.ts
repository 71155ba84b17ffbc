import { AppError } from "../core/errors.ts";

/** The error for an address on which the relay cannot listen, as `config_invalid`. */
export function toListenError(host: string, port: number, cause: NodeJS.ErrnoException): AppError {
  const { why, hint } = explain(cause);
  return new AppError("config_invalid", `Cannot listen on ${host}:${port}: ${why}.`, { hint, cause });
}

function explain({ code, message }: NodeJS.ErrnoException): { why: string; hint: string } {
  if (code === "EACCES")
    return {
      why: "this user may not (ports below 1024 are the administrator's)",
      hint: "Set PORT to 1024 or above, or let systemd open the socket (deploy/tocsin.socket).",
    };
  return {
    why: code === "EADDRINUSE" ? "another process listens there" : (code ?? message),
    hint: "Set PORT (and HOST) to a free address of this machine.",
  };
}

export function toSocketError(fd: number, cause?: Error): AppError {
  return new AppError("config_invalid", `File descriptor ${fd} is no TCP socket that can be listened on.`, {
    hint: "What starts Tocsin has to hand it one: ListenStream=127.0.0.1:8080 in a systemd socket unit (deploy/tocsin.socket).",
    cause,
  });
}

/** `HOST` decides which tokens and proxies are accepted. An inherited socket must not be open to more than it says. */
export function toOpenSocketError(host: string, { address, port }: { address: string; port: number }): AppError {
  return new AppError(
    "config_invalid",
    `The socket that was handed over listens on ${address}:${port}, and HOST (${host}) lets nobody but this machine in.`,
    {
      hint: `Set HOST=${address}, or let the socket listen on ${host}: ListenStream in tocsin.socket, or restart serve --supervised.`,
    },
  );
}

/** `serve --supervised` opens its socket with an internal function of Node. */
export function toNoHolderError(nodeVersion: string): AppError {
  return new AppError("config_invalid", `Node.js ${nodeVersion} opens no socket for others, so none can be held.`, {
    hint: "Let systemd open it (deploy/tocsin.socket), start serve without --supervised, or use Node.js 24.",
  });
}
