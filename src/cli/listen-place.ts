import { once } from 'node:events'
import { lstatSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import type { Config } from '../config/config.ts'
import { nameOf } from '../config/database-address.ts'

/** The first descriptor that systemd passes. */
const FIRST_FD = 3
/** The descriptor of the socket that systemd passes to this process. */
export const passedSocket = ({ LISTEN_FDS, LISTEN_PID } = process.env): number | undefined => {
  if (!LISTEN_FDS || Number(LISTEN_PID) !== process.pid) return undefined
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

/** Where a service with these settings listens, and the name of its database. */
export const addressOf = ({ host, database }: Config, port: number) => {
  const name = nameOf(database)
  const path = host.startsWith('/') ? host : 'passed by systemd'
  if (port === 0) return { path, url: `unix:${path}`, database: name }
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  return { host, port, url, database: name }
}
