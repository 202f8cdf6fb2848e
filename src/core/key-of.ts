/** One key for a thing known by several texts. A NUL parts them: no text that can be stored holds one. */
export const keyOf = (...parts: readonly string[]): string => parts.join('\0')
