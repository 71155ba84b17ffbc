import { AppError } from "../core/errors.ts";
import type { Env } from "./variables.ts";

/** The number of the first socket that systemd hands to a process: sd_listen_fds(3). */
const firstFd = 3;
const inUnit = "start Tocsin by a unit like deploy/tocsin.service, or unset LISTEN_FDS and LISTEN_PID";

/**
 * The socket that systemd, or a launcher with its protocol, has opened. `ignored`: why a socket is not ours.
 * @throws AppError `config_invalid` when `LISTEN_FDS` and `LISTEN_PID` make no sense, or there are several sockets.
 */
export function findActivationSocket({ env, pid }: { env: Env; pid: number }): { fd?: number; ignored?: string } {
  const count = env.LISTEN_FDS?.trim() ?? "";
  const whose = env.LISTEN_PID?.trim() ?? "";
  if (count === "" || count === "0") return {};
  if (!/^\d{1,9}$/.test(whose))
    throw refuse("LISTEN_PID", whose, "and says of no process that the socket of LISTEN_FDS is its own");
  // Programs that the receiver starts inherit the variables, but the socket is not theirs.
  if (Number(whose) !== pid)
    return {
      ignored:
        `LISTEN_PID is ${whose} and this process ${pid}, so the socket of LISTEN_FDS ` +
        "is not taken: let the unit start node itself, with no shell or npm between",
    };
  if (!/^\d{1,9}$/.test(count)) throw refuse("LISTEN_FDS", count, "and is no number of sockets");
  if (Number(count) > 1) throw refuse("LISTEN_FDS", count, "and Tocsin takes one socket: keep one ListenStream");
  return { fd: firstFd };
}

function refuse(name: string, value: string, why: string): AppError {
  const shown = value === "" ? "not set" : JSON.stringify(value.slice(0, 20));
  return new AppError("config_invalid", `${name} is ${shown}, ${why}.`, { hint: inUnit });
}
