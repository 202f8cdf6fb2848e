import { spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { passedSocket, removeLeftSocket } from '../../src/cli/listen-place.ts'
import { readConfig } from '../../src/config/config.ts'
import { newFolder, until } from '../support/program.ts'

const PROGRAM = join(import.meta.dirname, '../../src/cli/bin.ts')
const start = (t: Test, [file = '', ...args]: string[], env: NodeJS.ProcessEnv) => {
  const child = spawn(file, args, {
    env: { PATH: process.env['PATH'], DATABASE_URL: 'memory:', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let log = ''
  child.stderr?.on('data', (chunk) => {
    log += chunk
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return {
    log: () => log,
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}
const statusAt = (socketPath: string) =>
  new Promise<number | undefined>((resolve, reject) =>
    request({ socketPath, path: '/readyz' }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end(),
  )

t.test('HOST is an address, with brackets or without, a name, or the path of a socket', async (t) => {
  for (const [HOST, host] of [
    ['[::]', '::'],
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['localhost', 'localhost'],
    ['/run/x.sock', '/run/x.sock'],
  ] as const)
    t.equal(readConfig({ HOST }).host, host)
  for (const HOST of ['[::', '::]', '[localhost]', '[127.0.0.1]', 'a b', '[]'])
    t.throws(() => readConfig({ HOST }), /invalid/, HOST)
})

t.test('a unix socket serves, also in the place of one that a killed process left', async (t) => {
  const HOST = join(newFolder(t), 'x.sock')
  const left = spawn(process.execPath, [
    '-e',
    `require('net').createServer().listen(${JSON.stringify(HOST)}, () => console.log(1))`,
  ])
  await new Promise((resolve) => left.stdout.once('data', resolve))
  left.kill('SIGKILL')
  await new Promise((resolve) => left.once('exit', resolve))
  const server = start(t, [process.execPath, PROGRAM, 'serve'], { HOST })
  await until('it is ready', async () => (await statusAt(HOST).catch(() => 0)) === 200)
  await until('it says where', () => server.log().includes(`"url":"unix:${HOST}"`))
  t.equal(await server.stop(), 0)
  t.notOk(existsSync(HOST))
})

t.test('a file that is no socket stays', async (t) => {
  const path = join(newFolder(t), 'x.db')
  writeFileSync(path, '')
  await removeLeftSocket(path)
  t.ok(existsSync(path))
})

t.test('the socket that systemd passes is taken, if it is for this process', async (t) => {
  const pid = String(process.pid)
  t.equal(passedSocket({ LISTEN_FDS: '1', LISTEN_PID: pid }), 3)
  t.equal(passedSocket({ LISTEN_FDS: '1', LISTEN_PID: '1' }), undefined)
  t.equal(passedSocket({ LISTEN_PID: pid }), undefined)
  t.throws(() => passedSocket({ LISTEN_FDS: '2', LISTEN_PID: pid }), /pass one socket/)
})

const ACTIVATE = 'systemd-socket-activate'
const skip = spawnSync(ACTIVATE, ['--version']).error ? `${ACTIVATE} is not installed` : false
t.test('under systemd the first request starts it', { skip }, async (t) => {
  const path = join(newFolder(t), 'passed.sock')
  const server = start(
    t,
    [ACTIVATE, '-l', path, '-E', 'DATABASE_URL', process.execPath, PROGRAM, 'serve'],
    {},
  )
  await until('it is ready', async () => (await statusAt(path).catch(() => 0)) === 200)
  await until('it says where', () => server.log().includes('"path":"passed by systemd"'))
  t.equal(await server.stop(), 0)
})
