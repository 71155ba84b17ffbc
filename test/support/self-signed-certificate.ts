import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

export interface SelfSignedCertificate {
  /** PEM. */
  key: string;
  /** PEM. Names `localhost`, 127.0.0.1 and ::1, and is its own authority, so it can be given as `ca` too. */
  cert: string;
}

/**
 * Makes a certificate for this machine's loopback names, valid from an hour before `now` for a year. Written out in DER
 * (X.690, RFC 5280), since node:crypto can read certificates and not make them. Not `selfsigned`: it brings 23 packages
 * and 9 MB to every installation.
 *
 * @param now epoch milliseconds.
 */
export function createSelfSignedCertificate(now: number): SelfSignedCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const body = describeCertificate(publicKey, now);
  const signature = sign("sha256", body, privateKey);
  const certificate = sequence(body, sequence(ecdsaWithSha256), bitString(signature));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: toPem(certificate),
  };
}

function describeCertificate(publicKey: KeyObject, now: number): Buffer {
  const name = sequence(set(sequence(objectId("2.5.4.3"), utf8("localhost"))));
  const validity = sequence(time(now - 3_600_000), time(now + 365 * 86_400_000));
  return sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    sequence(ecdsaWithSha256),
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(basicConstraints(), alternativeNames())),
  );
}

function basicConstraints(): Buffer {
  const isAuthority = Buffer.from([0x01, 0x01, 0xff]);
  return sequence(objectId("2.5.29.19"), isAuthority, octets(sequence(isAuthority)));
}

function alternativeNames(): Buffer {
  const dns = tagged(0x82, Buffer.from("localhost"));
  const loopback4 = tagged(0x87, Buffer.from([127, 0, 0, 1]));
  const loopback6 = tagged(0x87, Buffer.from([...new Array<number>(15).fill(0), 1]));
  return sequence(objectId("2.5.29.17"), octets(sequence(dns, loopback4, loopback6)));
}

/** Positive and of full length: the first byte is between 1 and 127. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes;
}

function tagged(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
}

function lengthOf(content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.from([length]);
  return length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff]);
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function set(...parts: Buffer[]): Buffer {
  return tagged(0x31, Buffer.concat(parts));
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

function bitString(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([0]), bytes]));
}

function octets(bytes: Buffer): Buffer {
  return tagged(0x04, bytes);
}

function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text));
}

function explicit(number: number, content: Buffer): Buffer {
  return tagged(0xa0 + number, content);
}

/** UTCTime, `YYMMDDHHMMSSZ`: what RFC 5280 asks for until 2049. */
function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return tagged(0x17, Buffer.from(digits.slice(2)));
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(toBase128)]));
}

function toBase128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

function toPem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

const ecdsaWithSha256 = objectId("1.2.840.10045.4.3.2");
