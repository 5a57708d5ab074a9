"""The script that Streamlit runs; everything is in app/router.py, which tests can import."""

from app.router import main

main()
