import { spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { done, ended, listening, ROOT, type Way, works } from './image.ts'

type Env = Record<string, string>
/** The result of a stage's instructions in a folder that stands for the root of a container. */
type Stage = {
  readonly root: string
  at: string
  env: Env
  user: string
  entryPoint: string[]
  command: string[]
  healthCheck: string[]
  labels: Record<string, string>
}

const asRoot = process.getuid?.() === 0

/**
 * The Containerfile's own instructions in clean folders: the same copies, commands and user, on the machine's own system
 * instead of the base image. Paths that begin with `/data`, `/app` or `/usr/local` are those below the folder.
 */
export const replay: Way = {
  name: 'a replay of the steps',
  whyNot: () => null,
  build: async () => {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'prospect-pages-'))
    chmodSync(folder, 0o755)
    // A user that may not look into this checkout runs the Node of this process.
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    copyFileSync(process.execPath, join(bin, 'node'))
    const path = `${bin}${delimiter}${process.env['PATH']}`
    // Behind a proxy that looks into TLS, npm needs to know its certificate.
    const { HOME = '', NODE_EXTRA_CA_CERTS } = process.env
    const environment = { PATH: path, HOME, ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }) }
    const stages = new Map<string, Stage>()
    let stage = newStage(folder, 'none')
    for (const { word, rest } of instructions()) {
      if (word === 'FROM') {
        const name = / as (\w+)$/i.exec(rest)?.[1] ?? `stage-${stages.size}`
        stage = newStage(folder, name)
        stages.set(name, stage)
      } else await follow(stage, word, rest, stages, environment)
    }
    const { root, at, env, user, entryPoint, command, healthCheck, labels } = stage
    const PATH = `${join(root, 'usr/local/bin')}${delimiter}${path}`
    const own = { ...env, PATH, DATABASE_URL: `sqlite:${root}/data/prospect-pages.db` }
    const [program = '', args] = as(user)
    const options = (more: Env = {}) => ({
      cwd: join(root, at),
      env: { ...own, HOST: '127.0.0.1', PORT: '0', ...more },
    })
    return {
      user,
      healthCheck,
      labels,
      run: (words) => ended(program, [...args, ...entryPoint, ...words], options()),
      start: async () => {
        const child = spawn(program, [...args, ...entryPoint, ...command], {
          ...options(),
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        const { pid, port, stdout, code } = await listening(child)
        return {
          url: `http://127.0.0.1:${port}`,
          portInside: String(port),
          stdout,
          exec: (words, more) => ended(program, [...args, ...words], options(more)),
          stop: () => {
            process.kill(pid, 'SIGTERM')
            return code
          },
        }
      },
      remove: async () => rmSync(folder, { recursive: true, force: true }),
    }
  },
}

/** Runs what follows as that user, who can become no other user, where this is possible. */
const as = (user: string): [program: string, args: string[]] => {
  const [uid, gid] = user.split(':')
  if (!asRoot || !works('setpriv', '--version')) return ['env', []]
  const groups = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups']
  return ['setpriv', [...groups, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']]
}

const newStage = (folder: string, name: string): Stage => {
  const root = join(folder, name)
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  return { root, at: '/', env: {}, user: '0:0', entryPoint: [], command: [], healthCheck: [], labels: {} }
}

/** Lines that end in a backslash go on in the next. */
const instructions = () =>
  readFileSync(join(ROOT, 'Containerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, word = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
      return { word, rest }
    })

const follow = async (
  stage: Stage,
  word: string,
  rest: string,
  stages: Map<string, Stage>,
  env: Env,
): Promise<void> => {
  const { root } = stage
  const within = (path: string) => (path.startsWith('/') ? join(root, path) : join(root, stage.at, path))
  if (word === 'WORKDIR') {
    stage.at = rest
    mkdirSync(within(rest), { recursive: true })
  } else if (word === 'ENV')
    stage.env = { ...stage.env, ...Object.fromEntries(rest.split(' ').map((one) => one.split(/=(.*)/))) }
  else if (word === 'COPY') {
    const words = rest.split(' ')
    const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1]
    const [to = '', ...names] = words.slice(from === undefined ? 0 : 1).reverse()
    for (const name of names) {
      const source = from === undefined ? join(ROOT, name) : join(stages.get(from)?.root ?? '', name)
      cpSync(source, to.endsWith('/') ? join(within(to), basename(name)) : within(to), { recursive: true })
    }
  } else if (word === 'RUN') {
    const command = rest.replaceAll(/ \/(data|app|usr\/local)\b/g, ` ${root}/$1`)
    const owned = asRoot ? command : command.replaceAll(/chown \d+:\d+/g, 'true')
    await done('sh', ['-c', owned], { cwd: within('.'), env: { ...env, ...stage.env } })
  } else if (word === 'USER') stage.user = rest
  else if (word === 'LABEL')
    for (const [, name = '', value = ''] of rest.matchAll(/(\S+?)="([^"]*)"/g)) stage.labels[name] = value
  else if (word === 'ENTRYPOINT') stage.entryPoint = JSON.parse(rest)
  else if (word === 'CMD') stage.command = JSON.parse(rest)
  else if (word === 'HEALTHCHECK') stage.healthCheck = JSON.parse(rest.slice(rest.indexOf('[')))
  else if (!['ARG', 'VOLUME', 'EXPOSE'].includes(word)) throw new Error(`a new instruction: ${word}`)
}
