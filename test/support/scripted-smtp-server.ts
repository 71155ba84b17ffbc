import net from "node:net";
import tls from "node:tls";
import { listenOnLoopback } from "./loopback.ts";
import { createSelfSignedCertificate } from "./self-signed-certificate.ts";

export type ScriptStage = "greeting" | "ehlo" | "starttls" | "auth" | "mail" | "rcpt" | "data" | "dot";

/** A reply line (`\r\n` is added), or what happens instead of one. `+drop` replies first. */
export type ScriptAction = string | { drop: true; after?: string } | { hang: true };

export interface ScriptedSmtpOptions {
  /** What to do at a stage; an array is used up in turn, then the stage goes well. */
  script?: Partial<Record<ScriptStage, ScriptAction | ScriptAction[]>>;
  /** EHLO keywords besides STARTTLS. Default `PIPELINING`, `AUTH PLAIN LOGIN`, `SIZE 1000000`. */
  extensions?: string[];
  /** Offer STARTTLS. Default false. */
  starttls?: boolean;
  /** TLS from the first byte. Default false. */
  implicitTls?: boolean;
}

const certificate = createSelfSignedCertificate(Date.now());
const secureContext = tls.createSecureContext(certificate);

/** A mail server, until the test ends, that keeps to the order of commands and fails exactly where the script says. */
export async function createScriptedSmtpServer(options: ScriptedSmtpOptions = {}) {
  const sockets = new Set<net.Socket>();
  /** Every command line heard, with `tls ` in front when it came encrypted. */
  const commands: string[] = [];
  /** Mails whose final dot was heard, whatever was answered. */
  const mails: string[] = [];
  const counts = new Map<ScriptStage, number>();
  const watchers: { stage: ScriptStage; times: number; resolve: () => void }[] = [];
  let opened = 0;

  const queues = new Map<string, ScriptAction[]>();
  for (const [stage, action] of Object.entries(options.script ?? {}))
    queues.set(stage, Array.isArray(action) ? [...action] : new Array<ScriptAction>(99).fill(action));

  function count(stage: ScriptStage): void {
    counts.set(stage, (counts.get(stage) ?? 0) + 1);
    for (const watcher of watchers) if ((counts.get(watcher.stage) ?? 0) >= watcher.times) watcher.resolve();
  }

  function serve(plain: net.Socket): void {
    opened += 1;
    plain.setNoDelay(true);
    let socket: net.Socket = plain;
    let secure = false;
    let buffered = "";
    let content: string | undefined;
    let awaitingLogin: "user" | "password" | undefined;
    let hasSender = false;
    let recipients = 0;
    let frozen = false;

    /** Answers by the script; true when it went well. */
    function answer(stage: ScriptStage, good: string): boolean {
      count(stage);
      const action = queues.get(stage)?.shift() ?? good;
      if (typeof action === "string") {
        socket.write(`${action}\r\n`);
        return /^[23]/.test(action);
      }
      frozen = true;
      if ("drop" in action) {
        if (action.after !== undefined) socket.write(`${action.after}\r\n`, () => socket.destroy());
        else socket.destroy();
      }
      return false;
    }

    function upgrade(): void {
      plain.removeAllListeners("data");
      socket = new tls.TLSSocket(plain, { isServer: true, secureContext });
      secure = true;
      listen();
    }

    function hearCommand(line: string): void {
      commands.push(secure ? `tls ${line}` : line);
      const verb = (line.split(" ", 1)[0] ?? "").toUpperCase();
      if (awaitingLogin === "user") {
        awaitingLogin = "password";
        socket.write("334 UGFzc3dvcmQ6\r\n");
        return;
      }
      if (awaitingLogin === "password") {
        awaitingLogin = undefined;
        answer("auth", "235 2.7.0 welcome");
        return;
      }
      switch (verb) {
        case "EHLO": {
          const keywords = [...(options.extensions ?? ["PIPELINING", "AUTH PLAIN LOGIN", "SIZE 1000000"])];
          if (options.starttls === true && !secure) keywords.push("STARTTLS");
          const lines = ["scripted.test", ...keywords];
          answer("ehlo", lines.map((text, i) => `250${i === lines.length - 1 ? " " : "-"}${text}`).join("\r\n"));
          return;
        }
        case "HELO":
          socket.write("502 5.5.1 use EHLO\r\n");
          return;
        case "STARTTLS":
          if (options.starttls !== true) socket.write("502 5.5.1 command not implemented\r\n");
          else if (answer("starttls", "220 go ahead")) upgrade();
          return;
        case "AUTH":
          if (/^AUTH LOGIN$/i.test(line)) {
            awaitingLogin = "user";
            socket.write("334 VXNlcm5hbWU6\r\n");
          } else answer("auth", "235 2.7.0 welcome");
          return;
        case "MAIL":
          hasSender = answer("mail", "250 2.1.0 sender ok");
          return;
        case "RCPT":
          if (!hasSender) socket.write("503 5.5.1 MAIL first\r\n");
          else if (answer("rcpt", "250 2.1.5 recipient ok")) recipients += 1;
          return;
        case "DATA":
          if (recipients === 0) socket.write("503 5.5.1 valid RCPT first\r\n");
          else if (answer("data", "354 go on")) content = "";
          return;
        case "RSET":
          hasSender = false;
          recipients = 0;
          socket.write("250 2.0.0 ok\r\n");
          return;
        case "QUIT":
          socket.end("221 2.0.0 bye\r\n");
          return;
        default:
          socket.write("500 5.5.2 unknown command\r\n");
      }
    }

    function hear(chunk: Buffer): void {
      buffered += chunk.toString("latin1");
      while (!frozen) {
        if (content !== undefined) {
          const end = `\r\n${buffered}`.indexOf("\r\n.\r\n");
          if (end === -1) return;
          mails.push(buffered.slice(0, end));
          buffered = buffered.slice(end + 3);
          content = undefined;
          hasSender = false;
          recipients = 0;
          answer("dot", "250 2.0.0 taken as 4711");
          continue;
        }
        const end = buffered.indexOf("\r\n");
        if (end === -1) return;
        const line = buffered.slice(0, end);
        buffered = buffered.slice(end + 2);
        hearCommand(line);
      }
    }

    function listen(): void {
      sockets.add(socket);
      socket.on("data", hear);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => sockets.delete(socket));
    }

    if (options.implicitTls === true) upgrade();
    else listen();
    answer("greeting", "220 scripted.test ESMTP");
  }

  const { port } = await listenOnLoopback(net.createServer(serve));
  return {
    port,
    /** The certificate it shows, to be trusted by a test. */
    ca: certificate.cert,
    commands,
    mails,
    connections: () => opened,
    /** Resolves when the given stage has been reached that many times. */
    reached: (stage: ScriptStage, times = 1) =>
      new Promise<void>((resolve) => {
        if ((counts.get(stage) ?? 0) >= times) resolve();
        else watchers.push({ stage, times, resolve });
      }),
    /** Cuts all connections; the server goes on listening. */
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
