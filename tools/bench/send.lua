wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
wrk.body = '{"to": "alice@example.com", "sender": "bench@example.com", "subject": "Your order", "html": "<p>' .. string.rep("x", 4500) .. '</p>"}'
