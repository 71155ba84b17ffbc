import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pause, until } from "../../relays/scope.ts";
import { findLastingPort } from "../../support/lasting-port.ts";
import { judge, type Result, sendAlerts, toDesk, type World } from "./world.ts";

const greylistedForS = 30;

/** Postfix with postgrey: what is greylisted waits without a notice, and each mail arrives once. */
export async function tryMail(world: World): Promise<Result[]> {
  const { folder, write } = world;
  const [smtpPort, greyPort] = [await findLastingPort(), await findLastingPort()];
  const greyFolder = join(folder, "grey");
  mkdirSync(greyFolder);
  spawnSync("chown", ["postgrey:postgrey", greyFolder]);
  const greylist = [`--inet=127.0.0.1:${greyPort}`, `--delay=${greylistedForS}`, `--dbdir=${greyFolder}`];
  world.startProgram("postgrey", "postgrey", [...greylist, "--user=postgrey", "--group=postgrey"]);
  const mailFolder = startPostfix(world, smtpPort, greyPort);
  await pause(2_000);

  const desk = await world.startDesk();
  const address = `smtp://127.0.0.1:${smtpPort}?rejectUnauthorized=false`;
  const mail = `  mail: { type: email, smtpUrl: "\${MAIL_SMTP_URL}", from: tocsin@example.com, to: [desk@mail.test] }\n`;
  const relay = await world.startRelay("relay", toDesk(desk, mail), { MAIL_SMTP_URL: address });
  const startedAt = performance.now();
  const sender = sendAlerts(world.scope, relay.hookUrl, 1_000);
  await pause(5_500);
  const sent = await sender.end();
  const mails = () => readMails(mailFolder);
  const idsOf = (texts: string[]) => sent.accepted.filter((id) => texts.some((text) => text.includes(id)));
  const isThere = await until(() => idsOf(mails()).length === sent.accepted.length, 300_000, 1_000);
  const tookS = Math.round((performance.now() - startedAt) / 1000);
  // A second mail of the same alert would come soon.
  await pause(10_000);
  const texts = mails();
  const ids = texts.map((text) => /^Message-ID: *(.*)$/im.exec(text)?.[1] ?? text);
  const arrivals = sent.accepted.flatMap((id) => texts.filter((text) => text.includes(id)).map(() => id));
  const counts = judge(sent, arrivals);
  const faults = [
    ...counts.faults,
    ...desk.notices.map((text) => `notice: ${text.slice(0, 100)}`),
    ...(new Set(ids).size < ids.length ? ["a Message-ID twice"] : []),
    ...(isThere && tookS < greylistedForS ? ["nothing was greylisted"] : []),
  ];
  write("last-log", relay.log());
  const tried = `greylisted for ${greylistedForS} s, there after ${tookS} s`;
  return [{ counterpart: "Postfix, postgrey", tried, ...counts, faults }];
}

/** An instance of its own. @returns the folder of its mailbox */
function startPostfix({ folder, scope, write }: World, port: number, greyPort: number): string {
  const [config, queue, data, mail] = ["postfix", "queue", "postfix-data", "mail"].map((name) => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  }) as [string, string, string, string];
  spawnSync("chown", ["postfix", data]);
  const nobody = 65_534;
  chownSync(mail, nobody, nobody);
  const settings = {
    ...{ compatibility_level: "3.6", queue_directory: queue, data_directory: data, command_directory: "/usr/sbin" },
    ...{ daemon_directory: "/usr/lib/postfix/sbin", mail_owner: "postfix", setgid_group: "postdrop" },
    ...{ myhostname: "mail.test", mydestination: "", inet_interfaces: "127.0.0.1", inet_protocols: "ipv4" },
    ...{ mynetworks: "192.0.2.0/24", virtual_mailbox_domains: "mail.test", virtual_mailbox_base: mail },
    ...{ virtual_mailbox_maps: "static:desk/", virtual_uid_maps: `static:${nobody}` },
    virtual_gid_maps: `static:${nobody}`,
    smtpd_recipient_restrictions: `reject_unauth_destination, check_policy_service inet:127.0.0.1:${greyPort}`,
    smtputf8_enable: "no",
    maillog_file: "/dev/null",
    maillog_file_prefixes: "/dev",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  write("postfix/main.cf", lines.join(""));
  // Without its chroot, whose files only the machine's own instance has.
  const services = readFileSync("/usr/share/postfix/master.cf.dist", "utf8")
    .replace(/^(\w+\s+\w+\s+\S\s+\S\s+)y/gm, "$1n")
    .replace(/^smtp(\s+inet\s+\S\s+\S\s+\S)/m, `127.0.0.1:${port}$1`);
  write("postfix/master.cf", services);
  const started = spawnSync("postfix", ["-c", config, "start"], { encoding: "utf8" });
  if (started.status !== 0) console.log(started.stderr);
  scope.atEnd(() => void spawnSync("postfix", ["-c", config, "stop"]));
  return join(mail, "desk", "new");
}

/** With what is quoted-printable or base64 in them decoded, far enough to find an id. */
const readMails = (folder: string): string[] =>
  (existsSync(folder) ? readdirSync(folder) : []).map((name) => {
    const text = readFileSync(join(folder, name), "utf8");
    const blocks = text.match(/^[A-Za-z0-9+/=\r\n]{40,}$/gm) ?? [];
    const decoded = blocks.map((block) => Buffer.from(block, "base64").toString("utf8"));
    return [text.replace(/=\r?\n/g, ""), ...decoded].join("\n");
  });
