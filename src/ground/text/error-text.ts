/** An error may quote large contents. Its beginning is enough for a log or a reason. */
const longestText = 300;

/** The error's kind and message: `Error: disk I/O error`. */
export const errorText = (error: unknown): string => String(error).slice(0, longestText);

export const errorMessage = (error: unknown): string => errorText(error instanceof Error ? error.message : error);
