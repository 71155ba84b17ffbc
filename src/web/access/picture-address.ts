import { readSigned, type Secret, signText, writeSigned } from "../../core/secret.ts";

/** Milliseconds. Some phones load a picture only when somebody opens the notification. */
export const pictureLifetimeMs = 24 * 60 * 60 * 1000;

export interface PictureName {
  alertId: string;
  theme: "light" | "dark";
  /** IANA name of the zone for the times in the picture. */
  timeZone: string;
  /** The `destinationTag` of the message's destination. Absent in addresses of earlier versions. */
  tag?: string;
}

/**
 * The address of an alert's picture, for vendors that fetch pictures themselves. For a day everybody who has it can see
 * this picture. The key of the signature comes from the admin token, so a new token ends all addresses.
 *     /pictures/<alert>.<expiry>.<theme>.<zone>.<tag>.<signature>.png
 */
export function pictureAddress(publicUrl: string, adminToken: Secret, now: number, name: PictureName): string {
  const { alertId, theme, timeZone, tag } = name;
  const expiry = (now + pictureLifetimeMs).toString(36);
  const zone = Buffer.from(timeZone).toString("base64url");
  const signed = writeSigned(adminToken, "picture", alertId, expiry, theme, zone, ...(tag === undefined ? [] : [tag]));
  return `${publicUrl.replace(/(?<!\/)\/+$/, "")}/pictures/${signed}.png`;
}

/** Identifies a destination in addresses without its name. */
export function destinationTag(adminToken: Secret, name: string): string {
  return signText(adminToken, "picture", `destination ${name}`).slice(0, 10);
}

/** Undefined for an address that is not ours or has run out. The time of the answer does not show the fault. */
export function readPictureName(given: string, adminToken: Secret, now: number): PictureName | undefined {
  const signed = /^(.{1,300})\.png$/.exec(given)?.[1] ?? "";
  const [alertId = "", expiry = "0", theme, zone = "", tag] = readSigned(adminToken, "picture", signed) ?? [];
  const isInTime = now < Number.parseInt(expiry, 36);
  if (!isInTime) return undefined;
  return {
    alertId,
    theme: theme === "dark" ? "dark" : "light",
    timeZone: Buffer.from(zone, "base64url").toString(),
    tag,
  };
}
