import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

type Habit = {
  readonly count: number
  /** What each says at first. */
  readonly said: string
  /** What it says again and again, a little at a time. */
  readonly more?: string
}

const SAYS_EVERY_MS = 400
const LET_GO_MS_MAX = 15_000

/** Connections of callers with bad habits. None of them ends by itself. */
export const hold = async (url: string, habits: Readonly<Record<string, Habit>>) => {
  const port = Number(new URL(url).port)
  const sockets: { readonly name: string; readonly more: string | undefined; readonly socket: Socket }[] = []
  for (const [name, { count, said, more }] of Object.entries(habits))
    for (let i = 0; i < count; i++) {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', () => {})
      // What the server says is heard, or its end would not be.
      socket.resume()
      socket.once('end', () => socket.destroy())
      if (said !== '') socket.write(said)
      sockets.push({ name, more, socket })
      if (i % 100 === 99) await pause(10)
    }
  const saying = setInterval(() => {
    for (const { more, socket } of sockets) if (more !== undefined && socket.writable) socket.write(more)
  }, SAYS_EVERY_MS)

  return {
    count: sockets.length,
    /** The habits whose connections the server did not end in time; then all are ended. */
    letGo: async (): Promise<string[]> => {
      const until = performance.now() + LET_GO_MS_MAX
      const open = () => sockets.filter(({ socket }) => !socket.destroyed)
      while (open().length > 0 && performance.now() < until) await pause(100)
      const left = [...new Set(open().map(({ name }) => name))]
      clearInterval(saying)
      for (const { socket } of sockets) socket.destroy()
      return left
    },
  }
}
