import { until } from '../support/program.ts'
import { BASE, done, ended, type Image, ROOT, type Running, TAG, type Way, works } from './image.ts'

type Tool = 'docker' | 'podman'

/** The options that harden a container as SECURITY.md describes. */
const HARDENED = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges']
const READY_WITHIN = { tries: 600, pauseMs: 100 }

/** Docker and Podman accept the same arguments. */
export const docker = (tool: Tool): Way => ({
  name: tool,
  whyNot: () => {
    if (!works(tool, 'info')) return 'it does not work here'
    return works(tool, 'image', 'inspect', BASE) || works(tool, 'pull', BASE) ? null : `it cannot get ${BASE}`
  },
  build: () => buildImage(tool),
})

const buildImage = async (tool: Tool): Promise<Image> => {
  // Without this option Podman builds an OCI image, which has no health check.
  const format = tool === 'podman' ? ['--format', 'docker'] : []
  const build = ['build', ...format, '--build-arg', `BASE=${BASE}`, '-f', 'Containerfile', '-t', TAG, '.']
  await done(tool, build, { cwd: ROOT })
  const [image] = JSON.parse(await done(tool, ['image', 'inspect', TAG]))
  // Docker shows the health check in the configuration, Podman next to it.
  const healthCheck = image.Config.Healthcheck ?? image.HealthCheck
  return {
    user: image.Config.User,
    healthCheck: healthCheck.Test.slice(1),
    labels: image.Config.Labels,
    run: (args) => ended(tool, ['run', '--rm', ...HARDENED, TAG, ...args]),
    start: () => startContainer(tool),
    remove: async () => {
      await done(tool, ['image', 'rm', '--force', TAG])
    },
  }
}

/** Starts a container in the background, and waits until its service is ready. */
const startContainer = async (tool: Tool): Promise<Running> => {
  const id = await done(tool, ['run', '-d', ...HARDENED, '-p', '127.0.0.1::8080', TAG])
  const addresses = await done(tool, ['port', id, '8080/tcp'])
  const url = `http://${addresses.split('\n')[0]}`
  await until('the container is ready', () => isReady(url), READY_WITHIN)
  const { stdout } = await ended(tool, ['logs', id])
  return {
    url,
    portInside: '8080',
    stdout: () => stdout,
    exec: (args, env = {}) => {
      const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`])
      return ended(tool, ['exec', ...variables, id, ...args])
    },
    stop: () => stopContainer(tool, id),
  }
}

const isReady = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/readyz`)).ok
  } catch {
    return false
  }
}

/** Stops and removes a container, and returns its exit code. */
const stopContainer = async (tool: Tool, id: string): Promise<number> => {
  await done(tool, ['stop', '--time', '25', id])
  const code = Number(await done(tool, ['inspect', '--format', '{{.State.ExitCode}}', id]))
  await done(tool, ['rm', '--volumes', id])
  return code
}
