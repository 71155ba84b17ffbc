import { lookup } from "node:dns/promises";
import { fstatSync } from "node:fs";
import net from "node:net";
import type { Stream } from "node:stream";
import { getSystemErrorName } from "node:util";
import { toListenError, toNoHolderError, toSocketError } from "./listen-error.ts";

/**
 * The function by which Node's `cluster` opens sockets. No documented function opens one without taking connections
 * from it (nodejs/node#1239). The handle that `cluster` shares is closed with its last worker, and waiting connections
 * with it.
 */
type OpenServerHandle = (
  address: string,
  port: number,
  family: number,
  fd: undefined,
  flags: number,
) => number | (Stream & { getsockname(into: object): number; close(): void });

/** This process takes no connection from the socket. @throws AppError `config_invalid` when it cannot be opened */
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

/** The socket that this process was given, or a new one. @throws AppError `config_invalid` */
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
