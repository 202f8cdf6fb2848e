import { once } from 'node:events'
import { lstatSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'

/** The first descriptor that systemd passes. */
const FIRST_FD = 3
/** The descriptor of the socket that systemd passes to this process, or to the one whose worker it is. */
export const passedSocket = ({ LISTEN_FDS, LISTEN_PID } = process.env): number | undefined => {
  if (!LISTEN_FDS || ![process.pid, process.ppid].includes(Number(LISTEN_PID))) return undefined
  if (LISTEN_FDS !== '1') throw new Error(`LISTEN_FDS is ${LISTEN_FDS}: pass one socket.`)
  return FIRST_FD
}

/** Removes a socket that a killed process left: nothing listens on it. The same error comes from a file, which stays. */
export const removeLeftSocket = async (path: string): Promise<void> => {
  const trial = connect(path)
  const code = await once(trial, 'connect').then(
    () => null,
    (error) => error.code,
  )
  trial.destroy()
  if (code === 'ECONNREFUSED' && lstatSync(path).isSocket()) rmSync(path)
}

/** The port, or a free one for 0. Throws if the port is in use: workers that share a port would not notice. */
export const freePort = async (host: string, port: number): Promise<number> => {
  const trial = createServer().listen(port, host)
  await once(trial, 'listening')
  const { port: free } = trial.address() as AddressInfo
  await new Promise((resolve) => trial.close(resolve))
  return free
}
