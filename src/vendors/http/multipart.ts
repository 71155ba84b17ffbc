export interface MultipartFile {
  name: string;
  filename: string;
  contentType: string;
  bytes: Uint8Array;
}

/** Writes fields and one file. The fields are JSON, since multipart changes line breaks in plain text. */
export async function writeMultipart(
  fields: Readonly<Record<string, string>>,
  { name, filename, contentType, bytes }: MultipartFile,
): Promise<{ contentType: string; body: Uint8Array }> {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.append(field, value);
  form.append(name, new Blob([Buffer.from(bytes)], { type: contentType }), filename);
  const written = new Response(form);
  return {
    contentType: written.headers.get("content-type") ?? "",
    body: new Uint8Array(await written.arrayBuffer()),
  };
}
