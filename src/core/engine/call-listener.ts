/** Calls an embedder's listener. One that throws must not cost an answer or a write, so its error is printed. */
export const callListener = (listener: () => void): void => {
  try {
    listener()
  } catch (error) {
    console.error(error)
  }
}
