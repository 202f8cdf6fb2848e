import { spawn } from 'node:child_process'
import { accessSync, closeSync, constants, openSync, read, writeSync } from 'node:fs'
import type { Test } from 'tap'
import { newFolder } from './program.ts'

/** Why no FUSE file system can be mounted here, or false. */
export const whyNoFuse = (): string | false => {
  try {
    accessSync('/dev/fuse', constants.W_OK)
    return process.getuid?.() === 0 ? false : 'only root can mount FUSE'
  } catch {
    return 'this machine has no FUSE'
  }
}

const LOOKUP = 1
const GETATTR = 3
const STATFS = 17
const INIT = 26
const ENOENT = -2
const ENOSYS = -38
/** The answers of an empty, writable folder: see `linux/fuse.h`. */
const answers: Readonly<Record<number, () => Buffer | number>> = {
  [LOOKUP]: () => ENOENT,
  [GETATTR]: () => withNumber(104, 76, constants.S_IFDIR | 0o700),
  [STATFS]: () => withNumber(80, 40, 4_096),
  [INIT]: () => {
    const version = withNumber(64, 0, 7)
    version.writeUInt32LE(31, 4)
    version.writeUInt32LE(65_536, 20)
    return version
  },
}
const withNumber = (bytes: number, place: number, number: number): Buffer => {
  const answer = Buffer.alloc(bytes)
  answer.writeUInt32LE(number, place)
  return answer
}

/** An empty folder on a real FUSE file system, which this process serves. */
export const mountFuse = async (t: Test): Promise<string> => {
  const folder = newFolder(t)
  const device = openSync('/dev/fuse', 'r+')
  const request = Buffer.alloc(1_048_576)
  const serve = (): void =>
    read(device, request, 0, request.length, null, (error) => {
      // Unmounted.
      if (error) return closeSync(device)
      const answer = answers[request.readUInt32LE(4)]?.() ?? ENOSYS
      const body = typeof answer === 'number' ? Buffer.alloc(0) : answer
      const head = Buffer.alloc(16)
      head.writeUInt32LE(head.length + body.length)
      head.writeInt32LE(typeof answer === 'number' ? answer : 0, 4)
      request.copy(head, 8, 8, 16)
      writeSync(device, Buffer.concat([head, body]))
      serve()
    })
  const run = (command: string, ...args: string[]) =>
    new Promise((resolve) => {
      const stdio = ['ignore', 'inherit', 'inherit', device] as const
      spawn(command, args, { stdio: [...stdio] }).once('exit', resolve)
    })
  const options = `fd=3,rootmode=40000,user_id=0,group_id=0,allow_other`
  t.equal(await run('mount', '--internal-only', '--types', 'fuse', '--options', options, 'test', folder), 0)
  t.teardown(async () => void (await run('umount', '--lazy', folder)))
  serve()
  return folder
}
