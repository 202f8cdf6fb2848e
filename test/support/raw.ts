import { once } from 'node:events'
import { connect } from 'node:net'

/** Sends bytes as they are and answers what comes back until the server closes. */
export const sendRaw = async (url: string, message: string): Promise<string> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let said = ''
  socket.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  socket.write(message)
  await once(socket, 'close')
  return said
}
