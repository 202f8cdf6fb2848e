/**
 * Makes the function that is asked at each call whether the call may start at once, because calls come one at a time: it is
 * the first of its tick of the event loop, and the last tick with calls had only one. Otherwise more may arrive before the tick
 * ends, and share its work.
 *
 * It counts calls in a tick, not calls in flight: an embedded database answers before the next call is read from its socket.
 */
export const detectLoneCalls = (): (() => boolean) => {
  let callsInTick = 0
  let wasOneCall = false
  const endTick = (): void => {
    wasOneCall = callsInTick === 1
    callsInTick = 0
  }
  return () => {
    callsInTick++
    if (callsInTick > 1) return false
    setImmediate(endTick)
    return wasOneCall
  }
}
