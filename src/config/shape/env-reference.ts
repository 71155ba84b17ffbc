/** How the file refers to an environment variable: `${NAME}`. */
export function referTo(variable: string): string {
  return `\${${variable}}`;
}
