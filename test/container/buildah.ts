import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BASE, done, ended, listening, ROOT, TAG, type Way, works } from './image.ts'

/** Where nothing else of containers works: it changes the root, and shares the network and the processes. */
const ISOLATION = ['--isolation', 'chroot']

export const buildah: Way = {
  name: 'buildah',
  whyNot: () => {
    if (!works('buildah', 'info')) return 'it does not work here'
    return works('buildah', 'inspect', '--type', 'image', BASE) || works('buildah', 'pull', BASE)
      ? null
      : `it cannot get ${BASE}`
  },
  build: async () => {
    const build = ['bud', ...ISOLATION, '--format', 'docker', '--build-arg', `BASE=${BASE}`, '--pull-never']
    await done('buildah', [...build, '-f', 'Containerfile', '-t', TAG, '.'], { cwd: ROOT })
    const { Docker: image } = JSON.parse(await done('buildah', ['inspect', '--type', 'image', TAG]))
    const container = await done('buildah', ['from', TAG])
    const data = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
    const [uid = 0, gid = 0] = String(image.config.User).split(':').map(Number)
    chownSync(data, uid, gid)
    /** On the network of this machine, so at a port that is free. */
    const runArgs = (args: readonly string[], env: Readonly<Record<string, string>>) => [
      ...['run', ...ISOLATION, '--cap-drop', 'all', '-v', `${data}:/data`],
      ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      ...[container, ...args],
    ]
    return {
      user: image.config.User,
      healthCheck: image.config.Healthcheck.Test.slice(1),
      labels: image.config.Labels,
      run: (args) => ended('buildah', runArgs([...image.config.Entrypoint, ...args], {})),
      start: async () => {
        const env = { HOST: '127.0.0.1', PORT: '0' }
        const { Entrypoint, Cmd } = image.config
        const child = spawn('buildah', runArgs([...Entrypoint, ...Cmd], env), {
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        const { pid, port, stdout, code } = await listening(child)
        return {
          url: `http://127.0.0.1:${port}`,
          portInside: String(port),
          stdout,
          exec: (args, more = {}) => ended('buildah', runArgs(args, { ...env, ...more })),
          stop: () => {
            process.kill(pid, 'SIGTERM')
            return code
          },
        }
      },
      remove: async () => {
        await done('buildah', ['rm', container])
        await done('buildah', ['rmi', TAG])
        rmSync(data, { recursive: true, force: true })
      },
    }
  },
}
