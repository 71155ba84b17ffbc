import { lookup } from "node:dns/promises";
import { fstatSync } from "node:fs";
import net from "node:net";
import type { Stream } from "node:stream";
import { getSystemErrorName } from "node:util";
import { toListenError, toNoHolderError, toSocketError } from "./listen-error.ts";

/**
 * The function by which Node's own `cluster` opens sockets. No documented function opens one without taking connections from it
 * (nodejs/node#1239): a `net.Server` that is passed to a child also accepts in the parent. The handle that `cluster` shares is
 * closed with its last worker, and waiting connections with it.
 */
type OpenServerHandle = (
  address: string,
  port: number,
  family: number,
  fd: undefined,
  flags: number,
) => number | (Stream & { getsockname(into: object): number; close(): void });

/**
 * Opens a socket at this address for children to listen on. This process takes no connection from it.
 * @throws AppError `config_invalid` when it cannot be opened
 */
export async function openSocket(
  host: string,
  port: number,
  { _createServerHandle: open }: object & { _createServerHandle?: OpenServerHandle } = net,
): Promise<Stream> {
  if (typeof open !== "function") throw toNoHolderError(process.versions.node);
  const failWith = (code: string) => toListenError(host, port, Object.assign(new Error(code), { code }));
  const { address, family } = await lookup(host).catch((error: NodeJS.ErrnoException) => {
    throw toListenError(host, port, error);
  });
  const opened = open(address, port, family, undefined, 0);
  if (typeof opened === "number") throw failWith(getSystemErrorName(opened));
  // An address in use is reported only here.
  const failure = opened.getsockname({});
  if (failure === 0) return opened;
  opened.close();
  throw failWith(getSystemErrorName(failure));
}

/**
 * A socket for children to listen on: the one that this process was given, or a new one.
 * @throws AppError `config_invalid` when the descriptor is no socket, or none can be opened
 */
export async function holdSocket({ host, port, fd }: { host: string; port: number; fd?: number }) {
  if (fd === undefined) return openSocket(host, port);
  if (isSocket(fd)) return fd;
  throw toSocketError(fd);
}

function isSocket(fd: number): boolean {
  try {
    return fstatSync(fd).isSocket();
  } catch {
    return false;
  }
}
