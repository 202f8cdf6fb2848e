/** Calls an embedder's hook. One that throws must not cost an answer or a write, so its error is printed. */
export const callHook = (hook: () => void): void => {
  try {
    hook()
  } catch (error) {
    console.error(error)
  }
}
