import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { request as requestByTls } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { until } from './program.ts'

export type Asked = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
  /** Sends the body only when it is asked to; who refuses it early may close the connection at once. */
  readonly expectsContinue?: boolean
}
export type Answered = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}
export type Proxy = {
  /** Sends a target as it stands, by TLS, and answers what the proxy answered. */
  readonly ask: (target: string, asked?: Asked) => Promise<Answered>
  readonly socket: string
  /** The log of nginx. */
  readonly accessLog: () => string
  readonly stop: () => Promise<void>
}
type Owner = { readonly teardown: (end: () => Promise<void>) => void }
type Place = { readonly folder: string; readonly socket: string; readonly upstreamPort: number }
export type ProxyKind = {
  readonly name: 'nginx' | 'caddy'
  /** A body of this size is refused as a problem: by the service behind nginx, by Caddy itself. */
  readonly refusesBytes: number
  /** Why it cannot be tried here, or null. */
  readonly skip: string | null
  /** Starts it with its file of `deploy/`, in front of what listens on that port. */
  readonly start: (t: Owner, upstreamPort: number) => Promise<Proxy>
}

const deployed = (name: string): string =>
  readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')

const binOf = (name: string): string | null =>
  [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path)) ?? null

/** With `PROXY_REQUIRED` nginx must be there; Caddy is tried where it is. */
const whyNot = (name: string): string | null => {
  if (binOf(name) !== null && binOf('openssl') !== null) return null
  if (process.env['PROXY_REQUIRED'] && name === 'nginx')
    throw new Error('PROXY_REQUIRED is set, and there is no nginx or no openssl here')
  return `NO ${name.toUpperCase()} HERE, or no openssl: its file in deploy/ was not tried`
}

/** Changes one place of a file, which must be there exactly once. */
const changed = (text: string, place: string, by: string): string => {
  if (text.split(place).length !== 2) throw new Error(`not once there: ${place}`)
  return text.replace(place, () => by)
}

/** Only addresses and files are others than in the documentation. */
const nginxFiles = ({ folder, socket, upstreamPort }: Place): string[] => {
  let site = deployed('nginx.conf')
  site = changed(site, 'server 127.0.0.1:8080;', `server 127.0.0.1:${upstreamPort};`)
  site = changed(site, 'listen 443 ssl http2;', `listen unix:${socket} ssl http2;`)
  site = changed(site, '  listen [::]:443 ssl http2;\n', '')
  site = changed(site, 'listen 80;', `listen unix:${socket}.plain;`)
  site = changed(site, '  listen [::]:80;\n', '')
  site = changed(site, '/etc/ssl/prospects.example.com.pem', join(folder, 'cert.pem'))
  site = changed(site, '/etc/ssl/prospects.example.com.key', join(folder, 'cert.key'))
  site = changed(site, '/var/log/nginx/prospect-pages.log', join(folder, 'access.log'))
  writeFileSync(join(folder, 'site.conf'), site)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  include ${folder}/site.conf;
}
`,
  )
  return ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')]
}

const caddyFiles = ({ folder, socket, upstreamPort }: Place): string[] => {
  let site = deployed('Caddyfile')
  site = changed(site, 'reverse_proxy 127.0.0.1:8080', `reverse_proxy 127.0.0.1:${upstreamPort}`)
  site = changed(site, '\tservers {', '\tadmin off\n\tauto_https off\n\tservers {')
  const own = `bind unix/${socket}\n\ttls ${join(folder, 'cert.pem')} ${join(folder, 'cert.key')}`
  site = changed(site, 'prospects.example.com {', `https://prospects.example.com {\n\t${own}`)
  writeFileSync(join(folder, 'Caddyfile'), site)
  return ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile']
}

const startProxy = async (
  t: Owner,
  name: ProxyKind['name'],
  upstreamPort: number,
  filesOf: (place: Place) => string[],
): Promise<Proxy> => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'prospect-pages-'))
  const socket = join(folder, 'socket')
  // nginx runs as a different user.
  chmodSync(folder, 0o755)
  const names = ['-keyout', join(folder, 'cert.key'), '-out', join(folder, 'cert.pem')]
  const subject = [
    '-subj',
    '/CN=prospects.example.com',
    '-addext',
    'subjectAltName=DNS:prospects.example.com',
  ]
  const ways = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const made = spawnSync('openssl', ['req', '-x509', ...ways, ...names, ...subject], { encoding: 'utf8' })
  if (made.status !== 0) throw new Error(made.stderr)
  const child = spawn(binOf(name) ?? '', filesOf({ folder, socket, upstreamPort }), {
    env: { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  t.teardown(stop)
  await until(`${name} listens`, () => {
    if (child.exitCode !== null) throw new Error(`${name} ended at once: ${stderr}`)
    return isListening(socket)
  })
  const accessLog = () => readFileSync(join(folder, 'access.log'), 'utf8')
  return { socket, stop, accessLog, ask: (target, asked) => ask(socket, target, asked) }
}

/** A socket is there a moment before it can be connected to. */
const isListening = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect({ path }, () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })

const ask = (
  socket: string,
  target: string,
  { method = 'GET', headers = {}, body, expectsContinue = false }: Asked = {},
): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const length = body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }
    const expect = expectsContinue && { expect: '100-continue' }
    const given = Object.entries({ host: 'prospects.example.com', ...length, ...expect, ...headers })
    const sent = requestByTls(
      {
        socketPath: socket,
        path: target,
        method,
        servername: 'prospects.example.com',
        rejectUnauthorized: false,
        agent: false,
        headers: Object.fromEntries(given) as Record<string, string | string[]>,
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
          sent.destroy()
        })
      },
    )
    sent.on('error', reject)
    if (expectsContinue) sent.on('continue', () => sent.end(body)).flushHeaders()
    else sent.end(body)
  })

export const proxyKinds = (): readonly ProxyKind[] => [
  {
    name: 'nginx',
    refusesBytes: 1_048_577,
    skip: whyNot('nginx'),
    start: (t, port) => startProxy(t, 'nginx', port, nginxFiles),
  },
  {
    name: 'caddy',
    refusesBytes: 1_200_000,
    skip: whyNot('caddy'),
    start: (t, port) => startProxy(t, 'caddy', port, caddyFiles),
  },
]
