/** The result of the attempt, or null if it throws. */
export const orNull = <Answer>(attempt: () => Answer): Answer | null => {
  try {
    return attempt()
  } catch {
    return null
  }
}
