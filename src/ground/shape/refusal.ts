/** Why a value was not taken, in words that go after the option's name, and what to write instead. */
export class Refusal {
  constructor(
    readonly message: string,
    readonly instead?: string,
  ) {}
}

/** How the file refers to an environment variable: `${NAME}`. */
export function referTo(variable: string): string {
  return `\${${variable}}`;
}
