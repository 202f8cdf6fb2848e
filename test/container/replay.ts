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
import { done, ended, type Image, listening, ROOT, type Way, works } from './image.ts'

type Env = Readonly<Record<string, string>>
/** The result of a stage's instructions in a folder that stands for the root of a container. */
type Stage = {
  readonly root: string
  workdir: string
  env: Env
  user: string
  entryPoint: string[]
  command: string[]
  healthCheck: string[]
  labels: Record<string, string>
}
type Build = {
  readonly stages: ReadonlyMap<string, Stage>
  /** The environment of the commands that the instructions run. */
  readonly env: Env
}

const asRoot = process.getuid?.() === 0

/**
 * The Containerfile's instructions in clean folders: the same copies, commands and user, on the machine's system instead
 * of the base image. Paths that begin with `/data`, `/app` or `/usr/local` are replaced by those below the folder.
 */
export const replay: Way = {
  name: 'a replay of the steps',
  whyNot: () => null,
  build: async () => {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'prospect-pages-'))
    chmodSync(folder, 0o755)
    const path = `${nodeFolder(folder)}${delimiter}${process.env['PATH']}`
    const stage = await runInstructions(folder, path)
    return imageOf(stage, folder, path)
  },
}

/** Copies Node into a folder, because a user who may not read this checkout must be able to run it. */
const nodeFolder = (folder: string): string => {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  copyFileSync(process.execPath, join(bin, 'node'))
  return bin
}

/** Runs every instruction, and returns the last stage. */
const runInstructions = async (folder: string, path: string): Promise<Stage> => {
  // Behind a proxy that decrypts TLS, npm needs its certificate.
  const { HOME = '', NODE_EXTRA_CA_CERTS } = process.env
  const env = { PATH: path, HOME, ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }) }
  const stages = new Map<string, Stage>()
  let stage = newStage(folder, 'none')
  for (const { word, rest } of instructions()) {
    if (word === 'FROM') {
      const name = / as (\w+)$/i.exec(rest)?.[1] ?? `stage-${stages.size}`
      stage = newStage(folder, name)
      stages.set(name, stage)
      continue
    }
    if (IGNORED.includes(word)) continue
    const run = INSTRUCTIONS[word]
    if (run === undefined) throw new Error(`unknown instruction: ${word}`)
    await run(stage, rest, { stages, env })
  }
  return stage
}

const newStage = (folder: string, name: string): Stage => {
  const root = join(folder, name)
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  return {
    root,
    workdir: '/',
    env: {},
    user: '0:0',
    entryPoint: [],
    command: [],
    healthCheck: [],
    labels: {},
  }
}

/** The instructions of the Containerfile. A line that ends in a backslash continues on the next one. */
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

const IGNORED = ['ARG', 'VOLUME', 'EXPOSE']

type Run = (stage: Stage, rest: string, build: Build) => void | Promise<void>
const INSTRUCTIONS: Readonly<Record<string, Run>> = {
  WORKDIR: (stage, rest) => {
    stage.workdir = rest
    mkdirSync(pathIn(stage, rest), { recursive: true })
  },
  ENV: (stage, rest) => {
    const assignments = rest.split(' ').map((assignment) => assignment.split(/=(.*)/))
    stage.env = { ...stage.env, ...Object.fromEntries(assignments) }
  },
  COPY: (stage, rest, { stages }) => copy(stage, rest, stages),
  RUN: async (stage, rest, { env }) => {
    const command = rest.replaceAll(/ \/(data|app|usr\/local)\b/g, ` ${stage.root}/$1`)
    const permitted = asRoot ? command : command.replaceAll(/chown \d+:\d+/g, 'true')
    await done('sh', ['-c', permitted], { cwd: pathIn(stage, '.'), env: { ...env, ...stage.env } })
  },
  USER: (stage, rest) => {
    stage.user = rest
  },
  LABEL: (stage, rest) => {
    for (const [, name = '', value = ''] of rest.matchAll(/(\S+?)="([^"]*)"/g)) stage.labels[name] = value
  },
  ENTRYPOINT: (stage, rest) => {
    stage.entryPoint = JSON.parse(rest)
  },
  CMD: (stage, rest) => {
    stage.command = JSON.parse(rest)
  },
  HEALTHCHECK: (stage, rest) => {
    stage.healthCheck = JSON.parse(rest.slice(rest.indexOf('[')))
  },
}

const pathIn = ({ root, workdir }: Stage, path: string): string =>
  path.startsWith('/') ? join(root, path) : join(root, workdir, path)

/** Copies files of the checkout, or of another stage with `--from`. */
const copy = (stage: Stage, rest: string, stages: Build['stages']): void => {
  const words = rest.split(' ')
  const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1]
  const sourceRoot = from === undefined ? ROOT : (stages.get(from)?.root ?? '')
  const names = words.slice(from === undefined ? 0 : 1, -1)
  const target = words.at(-1) ?? ''
  const targetPath = pathIn(stage, target)
  for (const name of names) {
    const copied = target.endsWith('/') ? join(targetPath, basename(name)) : targetPath
    cpSync(join(sourceRoot, name), copied, { recursive: true })
  }
}

const imageOf = (stage: Stage, folder: string, path: string): Image => {
  const { root, workdir, user, entryPoint, command, healthCheck, labels } = stage
  const { program, args } = commandAsUser(user)
  const imageEnv = {
    ...stage.env,
    PATH: `${join(root, 'usr/local/bin')}${delimiter}${path}`,
    DATABASE_URL: `sqlite:${root}/data/prospect-pages.db`,
  }
  const options = (env: Env = {}) => ({
    cwd: join(root, workdir),
    env: { ...imageEnv, HOST: '127.0.0.1', PORT: '0', ...env },
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
        exec: (words, env) => ended(program, [...args, ...words], options(env)),
        stop: () => {
          process.kill(pid, 'SIGTERM')
          return code
        },
      }
    },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A program that runs its arguments as that user, without a way to become another one, if this machine can do so. */
const commandAsUser = (user: string): { program: string; args: string[] } => {
  if (!asRoot || !works('setpriv', '--version')) return { program: 'env', args: [] }
  const [uid, gid] = user.split(':')
  const identity = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups']
  const privileges = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']
  return { program: 'setpriv', args: [...identity, ...privileges] }
}
