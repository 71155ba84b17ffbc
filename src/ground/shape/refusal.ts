/** Why a value was refused, in words that follow the option's name, and what to write instead. */
export class Refusal {
  constructor(
    readonly message: string,
    readonly instead?: string,
  ) {}
}

export function referTo(variable: string): string {
  return `\${${variable}}`;
}
